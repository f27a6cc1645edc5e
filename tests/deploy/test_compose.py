"""The Compose files by their content: no engine is at hand where tests run."""

import importlib.metadata
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((PROJECT / "docker-compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DEV = yaml.safe_load((PROJECT / "docker-compose.dev.yaml").read_text())["services"]
AIRFLOW = {"setup", "api-server", "scheduler", "dag-processor", "triggerer", "worker"}
LASTING = sorted(SERVICES.keys() - {"setup"})
SECRET = re.compile(
    r"PASSWORD$|SECRET|FERNET_KEY|CONN_BMS_WAREHOUSE|_URL$|BACKEND$|SQL_ALCHEMY_CONN|AUTH$"
)
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?::([?-])([^}]*))?\}")


def test_the_topology_is_whole() -> None:
    assert SERVICES.keys() == AIRFLOW | {"postgres", "redis", "sandbox"}
    assert SERVICES["sandbox"]["profiles"] == ["sandbox"]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_image_is_pinned(name: str) -> None:
    assert re.fullmatch(r"[\w-]+:\d+\.\d+[\w.-]*", SERVICES[name]["image"])


@pytest.mark.parametrize("name", LASTING)
def test_every_lasting_service_is_watched_restarted_and_limited(name: str) -> None:
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


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_code_is_mounted(name: str) -> None:
    binds = [volume for volume in SERVICES[name].get("volumes", []) if volume.startswith(".")]
    assert binds == (
        ["./deploy/databases:/docker-entrypoint-initdb.d/databases.sh:ro"]
        if name == "postgres"
        else []
    )


def test_only_the_pages_are_published_and_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"api-server": ["127.0.0.1:${AIRFLOW_PORT:-8080}:8080"]}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_secret_stands_in_the_file_or_has_a_default(name: str) -> None:
    for variable, value in SERVICES[name].get("environment", {}).items():
        if SECRET.search(variable) and "EXECUTION_API" not in variable and value:
            held = VARIABLE.findall(str(value))
            assert held, f"{variable} is written out"
            assert all(kind == "?" for _, kind, _ in held), f"{variable} has a default"


def test_every_required_variable_is_drawn_by_the_script(drawn: dict[str, str]) -> None:
    required = {
        variable
        for variable, kind, _ in VARIABLE.findall((PROJECT / "docker-compose.yaml").read_text())
        if kind == "?"
    }
    assert required == drawn.keys()


@pytest.mark.parametrize("name", sorted(AIRFLOW))
def test_settings_in_the_env_file_reach_every_component(name: str) -> None:
    assert SERVICES[name]["env_file"] == ".env"


@pytest.mark.parametrize("name", sorted(AIRFLOW - {"setup"}))
def test_what_the_env_file_holds_for_others_does_not(name: str) -> None:
    environment = SERVICES[name]["environment"]
    assert environment["POSTGRES_PASSWORD"] == environment["AIRFLOW_ADMIN_PASSWORD"] == ""


def test_all_components_share_the_same_secrets() -> None:
    shared = (
        "AIRFLOW__CORE__FERNET_KEY",
        "AIRFLOW__API_AUTH__JWT_SECRET",
        "AIRFLOW__API__SECRET_KEY",
    )
    for variable in shared:
        assert len({SERVICES[name]["environment"][variable] for name in AIRFLOW}) == 1


def test_the_sandbox_gets_no_secret_of_airflow() -> None:
    sandbox = SERVICES["sandbox"]
    assert all(name.startswith("BMS_SANDBOX_") for name in sandbox["environment"])
    assert not sandbox["env_file"]


def test_for_work_on_the_code_all_components_mount_it_and_use_the_editable_image() -> None:
    assert DEV.keys() == AIRFLOW | {"sandbox"}
    for service in DEV.values():
        assert service["volumes"] == [".:/src:ro"]
        assert service["build"] == {"context": ".", "target": "dev"}
    assert DEV["worker"]["environment"]["AIRFLOW__CORE__DAGS_FOLDER"] == "/src/dags"


class TestDockerfile:
    TEXT = (PROJECT / "Dockerfile").read_text()

    def test_airflow_is_the_version_of_the_lock(self) -> None:
        (version,) = re.findall(r"^ARG AIRFLOW=(.+)$", self.TEXT, re.MULTILINE)
        assert f"apache-airflow=={version} " in (PROJECT / "requirements.lock").read_text()
        assert version == importlib.metadata.version("apache-airflow")

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
            s["build"]["target"] for s in (*SERVICES.values(), *DEV.values()) if "build" in s
        }
        assert targets <= stages

    def test_what_is_copied_is_there_and_not_ignored(self) -> None:
        admitted = (PROJECT / ".dockerignore").read_text().splitlines()
        for line in re.findall(r"^COPY (?!--from)(.+)$", self.TEXT, re.MULTILINE):
            for source in line.split()[:-1]:
                assert (PROJECT / source).exists()
                assert f"!{source}" in admitted
