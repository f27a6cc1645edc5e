"""Content of the Compose files; the tests run without a Docker engine."""

import importlib
import importlib.metadata
import importlib.resources
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest
import yaml
from sqlalchemy import make_url

from bms_provider import pool
from bms_sandbox.__main__ import parser
from stack.processes import until
from tests.deploy.compose import PRODUCTION, PROJECT, Unset, compose, content
from tests.support.patience import LONG_S

SERVICES: dict[str, dict[str, Any]] = content()["services"]
IN_PRODUCTION: dict[str, dict[str, Any]] = content(*PRODUCTION)["services"]
AIRFLOW = {"setup", "api-server", "scheduler", "dag-processor", "triggerer", "worker"}
MONITORING = {"statsd-exporter", "prometheus", "alertmanager", "grafana"}
LASTING = sorted(SERVICES.keys() - {"setup"})
SECRET = re.compile(
    r"PASSWORD$|SECRET|FERNET_KEY|CONN_BMS_WAREHOUSE|_URL$|BACKEND$|SQL_ALCHEMY_CONN|AUTH$"
)
ADDRESSES = {
    "AIRFLOW__CORE__EXECUTION_API_SERVER_URL",
    "BMS_SANDBOX_URL",
}  # without a login in them
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?::([?-])([^}]*))?\}")


def test_the_topology_is_complete() -> None:
    assert SERVICES.keys() == AIRFLOW | MONITORING | {"postgres", "redis", "sandbox", "alarms"}
    profiles = {
        name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service
    }
    monitoring = {name: ["monitoring"] for name in MONITORING}
    assert profiles == {"sandbox": ["sandbox"], "alarms": ["alarms"], **monitoring}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_stop_reaches_every_service(name: str) -> None:
    """A shell that is a container's first process hears no signal, and the rest is killed."""
    command = SERVICES[name].get("command", [])
    if command[:1] == ["sh"] and not SERVICES[name].get("init"):
        assert command[-1].strip().splitlines()[-1].startswith("exec ")
        assert "|" not in command[-1]


@pytest.mark.parametrize("files", [(), PRODUCTION], ids=["development", "production"])
def test_it_is_valid_by_the_specification_s_schema(
    files: tuple[str, ...], drawn: dict[str, str]
) -> None:
    vendored = importlib.resources.files("check_jsonschema.builtin_schemas.vendor")
    schema = json.loads((vendored / "compose-spec.json").read_text())
    jsonschema.validate(compose(drawn, *files), schema)
    for each in files or ("docker-compose.yaml",):
        jsonschema.validate(content(each), schema)


def test_without_secrets_compose_names_the_command_to_run(drawn: dict[str, str]) -> None:
    with pytest.raises(Unset, match="run scripts/secrets"):
        compose({**drawn, "REDIS_PASSWORD": ""})


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_image_is_pinned(name: str) -> None:
    for services in (SERVICES, IN_PRODUCTION):
        assert re.fullmatch(r"[\w/-]+:v?\d+\.\d+\.?\d*[\w.-]*", services[name]["image"])


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_container_runs_as_root(name: str) -> None:
    service = SERVICES[name]
    assert service["user"] not in {"root", "0", 0}
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", LASTING)
def test_every_long_running_service_has_health_check_restart_and_limits(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"]
    assert {"cpus", "memory"} <= service["deploy"]["resources"]["limits"].keys()


def test_components_wait_for_setup_and_setup_for_the_database() -> None:
    assert SERVICES["setup"]["restart"] == "no"
    assert SERVICES["setup"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in AIRFLOW - {"setup"}:
        assert (
            SERVICES[name]["depends_on"]["setup"]["condition"] == "service_completed_successfully"
        )


def mounted(service: Mapping[str, Any]) -> dict[str, str]:
    """Return the target of each mounted file or folder of the checkout."""
    binds = [each.split(":") for each in service.get("volumes", []) if each.startswith(".")]
    for source, _, mode in binds:
        assert (PROJECT / source).exists()
        assert mode == "ro"
    return {source: target for source, target, _ in binds}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_code_is_mounted_in_production(name: str) -> None:
    sources = mounted(IN_PRODUCTION[name])
    assert all(source.startswith("./deploy/") for source in sources)
    assert not sources or name in MONITORING | {"postgres"}


def test_production_changes_only_images_and_mounts() -> None:
    assert IN_PRODUCTION.keys() == SERVICES.keys()
    for name, service in SERVICES.items():
        other = IN_PRODUCTION[name]
        assert {key for key in service if service[key] != other[key]} <= {
            "image",
            "build",
            "volumes",
        }
        named = [each for each in service.get("volumes", []) if not each.startswith("./")]
        assert name in MONITORING | {"postgres"} or other.get("volumes", []) == named


def test_for_work_on_the_code_airflow_s_components_mount_it() -> None:
    code = {f"./{folder}": f"/opt/airflow/{folder}" for folder in ("dags", "include", "plugins")}
    for name in AIRFLOW | {"alarms"}:
        without_dags = {key: code[key] for key in code if key != "./dags"}
        assert mounted(SERVICES[name]) == (without_dags if name in {"setup", "alarms"} else code)
        assert SERVICES[name]["build"] == {"context": ".", "target": "dev"}
        assert IN_PRODUCTION[name]["build"] == {"context": ".", "target": "airflow"}
    sandbox = {"./include/bms_sandbox": "/opt/sandbox/bms_sandbox"}
    assert mounted(SERVICES["sandbox"]) == sandbox


def test_only_web_ports_are_published_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {
        "api-server": ["127.0.0.1:${AIRFLOW_PORT:-8080}:8080"],
        "grafana": ["127.0.0.1:${GRAFANA_PORT:-3000}:3000"],
    }


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_secret_is_in_the_file_or_has_a_default(name: str) -> None:
    for variable, value in SERVICES[name].get("environment", {}).items():
        if SECRET.search(variable) and variable not in ADDRESSES and value:
            held = VARIABLE.findall(str(value))
            assert held, f"{variable} is written out"
            assert all(kind == "?" for _, kind, _ in held), f"{variable} has a default"


def test_the_script_generates_every_required_variable(drawn: dict[str, str]) -> None:
    required = {
        variable
        for variable, kind, _ in VARIABLE.findall((PROJECT / "docker-compose.yaml").read_text())
        if kind == "?"
    }
    assert required == drawn.keys()


@pytest.mark.parametrize("name", sorted(AIRFLOW | {"alarms"}))
def test_every_setting_of_the_flows_reaches_the_component(name: str) -> None:
    reference = (PROJECT / "docs/reference/settings.md").read_text()
    documented = set(re.findall(r"^\| `(BMS_\w+)`", reference, re.MULTILINE))
    others = {"BMS_LOCAL_DIR", "BMS_STACK_PORT", "BMS_WAREHOUSE_URL", "BMS_DATA_ROOT"}
    elsewhere = others | {each for each in documented if "SANDBOX" in each}
    given = {each for each in SERVICES[name]["environment"] if each.startswith("BMS_")}
    assert documented - elsewhere <= given
    assert given - documented <= {each for each in given if each.startswith("BMS_SANDBOX_")}


def test_a_component_has_only_the_secrets_that_it_needs() -> None:
    assert not any("env_file" in service for service in SERVICES.values())
    assert all(name.startswith("BMS_SANDBOX_") for name in SERVICES["sandbox"]["environment"])

    def having(part: str) -> set[str]:
        return {
            name
            for name in AIRFLOW | {"alarms", "sandbox"}
            if any(part in f"{k}={v}" for k, v in SERVICES[name]["environment"].items())
        }

    assert having("JWT_SECRET") == {"api-server", "scheduler"}
    assert having("AIRFLOW_ADMIN_PASSWORD") == {"setup"}
    assert having("FERNET_KEY") == having("SQL_ALCHEMY_CONN") == AIRFLOW
    assert not having("GRAFANA_ADMIN_PASSWORD") | having("${POSTGRES_PASSWORD")
    mounts = {n for n in AIRFLOW | {"alarms"} if any("auth:" in v for v in SERVICES[n]["volumes"])}
    assert mounts == having("PASSWORDS_FILE") == {"setup", "api-server"}


def test_all_components_share_the_same_secrets() -> None:
    shared = (
        "AIRFLOW__CORE__FERNET_KEY",
        "AIRFLOW__API_AUTH__JWT_SECRET",
        "AIRFLOW__API__SECRET_KEY",
    )
    for variable in shared:
        given = {SERVICES[name]["environment"].get(variable) for name in AIRFLOW}
        assert len(given - {None}) == 1


def test_the_commands_are_those_of_airflow(drawn: dict[str, str]) -> None:
    from airflow.cli.cli_parser import get_parser

    services = compose(drawn)["services"]
    commands = [services[name]["command"] for name in sorted(AIRFLOW - {"setup"})] + [
        shlex.split(services[name]["healthcheck"]["test"][1])
        for name in ("dag-processor", "triggerer")
    ]
    for program, *arguments in commands:
        assert program == "airflow"
        get_parser().parse_args(arguments)  # exits on what it doesn't know
    assert os.access(PROJECT / "deploy/setup", os.X_OK)


def test_a_worker_finds_its_imports() -> None:
    """Celery 5.7 no longer had what the provider takes from it: no worker started."""
    importlib.import_module("airflow.providers.celery.executors.celery_executor_utils")


def test_the_command_of_the_sandbox_is_its_own(drawn: dict[str, str]) -> None:
    python, _, module, *arguments = compose(drawn)["services"]["sandbox"]["command"]
    assert (python, module) == ("python", "bms_sandbox")
    parser().parse_args(arguments)


def test_the_health_service_checks_at_once_and_is_healthy_while_it_can_send(
    drawn: dict[str, str], warehouse_uri: str, tmp_path: Path
) -> None:
    service = compose(drawn)["services"]["alarms"]
    assert service["environment"]["BMS_WAREHOUSE_URL"] == drawn["AIRFLOW_CONN_BMS_WAREHOUSE"]
    given = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "BMS_NOTICE_WEBHOOK": "http://127.0.0.1:9/nobody",
    }
    gone = make_url(warehouse_uri).set(database="gone").render_as_string(hide_password=False)
    assert first_look(service, given | {"BMS_WAREHOUSE_URL": gone}) == ("unknown", False)
    assert first_look(service, given | {"BMS_WAREHOUSE_URL": warehouse_uri}) == ("well", True)


def first_look(service: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[str, bool]:
    """Run the service until its first sleep; return the reported state, and whether the container is healthy."""
    with subprocess.Popen(  # noqa: S603 - the file's own command
        service["command"], env=environment, stdout=subprocess.PIPE, start_new_session=True
    ) as watch:
        try:
            assert until(lambda: sleeps(psutil.Process(watch.pid)), LONG_S)
        finally:
            os.killpg(watch.pid, signal.SIGTERM)
        said, _ = watch.communicate()
    check = ["sh", "-c", service["healthcheck"]["test"][1]]
    healthy = subprocess.run(check, env=environment, check=False).returncode == 0  # noqa: S603 - as above
    return json.loads(said)["state"], healthy


def sleeps(process: psutil.Process) -> bool:
    """Return whether the only child of a process is a sleep; another child may end meanwhile."""
    with suppress(psutil.NoSuchProcess):
        return [child.name() for child in process.children()] == ["sleep"]
    return False


def test_the_pool_of_the_alarms_is_created_by_setup() -> None:
    rules = (PROJECT / "deploy/monitoring/rules.yaml").read_text()
    assert " ".join(rules.split()).count(f"airflow pools set {pool.NAME} {pool.SLOTS}") == 1
    assert set(re.findall(r'pool_name="(\w+)"', rules)) == {pool.NAME}


def test_monitoring_mounts_exist() -> None:
    prometheus = yaml.safe_load((PROJECT / "deploy/monitoring/prometheus.yaml").read_text())
    targets = [
        target
        for job in prometheus["scrape_configs"]
        for config in job["static_configs"]
        for target in config["targets"]
    ]
    [alerting] = prometheus["alerting"]["alertmanagers"]
    for config in alerting["static_configs"]:
        targets.extend(config["targets"])
    named = {target.partition(":")[0] for target in targets}
    assert named == {"statsd-exporter", "alertmanager", "127.0.0.1"}
    sources = yaml.safe_load((PROJECT / "deploy/monitoring/grafana/datasources.yaml").read_text())
    assert [source["url"] for source in sources["datasources"]] == ["http://prometheus:9090"]


class TestDockerfile:
    TEXT = (PROJECT / "Dockerfile").read_text()

    def test_airflow_is_the_version_of_the_lock(self) -> None:
        (version,) = re.findall(r"^ARG AIRFLOW=(.+)$", self.TEXT, re.MULTILINE)
        assert f"apache-airflow=={version} " in (PROJECT / "requirements.lock").read_text()
        assert version == importlib.metadata.version("apache-airflow")

    def test_the_extras_that_are_installed_are_ours(self) -> None:
        (given,) = re.findall(r"^ARG EXTRAS=(.+)$", self.TEXT, re.MULTILINE)
        offered = importlib.metadata.metadata("bms-airflow").get_all("Provides-Extra") or []
        assert set(given.split(",")) <= set(offered)

    def test_every_stage_that_runs_ends_as_an_ordinary_user(self) -> None:
        stages = re.split(r"^FROM .* AS (\w+)$", self.TEXT, flags=re.MULTILINE)[1:]
        users = {
            name: re.findall(r"^USER (\w+)$", body, re.MULTILINE)
            for name, body in zip(stages[::2], stages[1::2], strict=True)
        }
        assert users["airflow"][-1] == users["dev"][-1] == "airflow"

    def test_the_stages_that_compose_names_exist(self) -> None:
        stages = set(re.findall(r"^FROM .* AS (\w+)$", self.TEXT, re.MULTILINE))
        targets = {
            each["build"]["target"]
            for services in (SERVICES, IN_PRODUCTION)
            for each in services.values()
            if "build" in each
        }
        assert targets <= stages

    def test_copied_paths_exist_and_are_not_ignored(self) -> None:
        admitted = (PROJECT / ".dockerignore").read_text().splitlines()
        for line in re.findall(r"^COPY (?!--from)(.+)$", self.TEXT, re.MULTILINE):
            for source in line.split()[:-1]:
                assert (PROJECT / source).exists()
                paths = {source, *map(str, Path(source).parents)}
                assert {f"!{path}" for path in paths} & set(admitted)
