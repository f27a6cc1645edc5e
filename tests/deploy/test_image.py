"""The production image does not contain the sandbox, which has a separate image."""

import ast
import itertools
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.utils import canonicalize_name

from tests.deploy.compose import PROJECT

DOCKERFILE = (PROJECT / "Dockerfile").read_text()
SERVICES = yaml.safe_load((PROJECT / "docker-compose.yaml").read_text())["services"]
STAGES = re.split(r"^FROM (\S+) AS (\w+)$", DOCKERFILE, flags=re.MULTILINE)
BASES = dict(zip(STAGES[2::3], STAGES[1::3], strict=True))
BODIES = dict(zip(STAGES[2::3], STAGES[3::3], strict=True))


def test_the_production_image_does_not_install_the_sandbox() -> None:
    (extras,) = re.findall(r"^ARG EXTRAS=(.+)$", DOCKERFILE, re.MULTILINE)
    assert "sandbox" not in extras.split(",")
    assert BASES["airflow"] == "base"
    assert BASES["base"].startswith("python:")
    assert "sandbox" not in BODIES["airflow"] + BODIES["base"]


def test_compose_runs_the_sandbox_from_its_own_image() -> None:
    assert SERVICES["sandbox"]["build"]["target"] == "sandbox"
    airflow = {SERVICES[name]["image"] for name in ("worker", "setup", "alarms")}
    assert SERVICES["sandbox"]["image"] not in airflow
    assert BASES["sandbox"].startswith("python:")


def test_the_image_of_the_sandbox_installs_what_the_sandbox_needs() -> None:
    command = BODIES["sandbox"].replace("\\\n", " ").partition("pip install")[2]
    installed = set(command.partition("--no-cache")[2].partition("--constraints")[0].split())
    trees = [ast.parse(f.read_text()) for f in (PROJECT / "include/bms_sandbox").rglob("*.py")]
    nodes = list(itertools.chain.from_iterable(map(ast.walk, trees)))
    modules = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    distributions = packages_distributions()
    found = [distributions.get(name.partition(".")[0], []) for name in modules]
    needed = {canonicalize_name(each) for names in found for each in names} - {"bms-airflow"}
    assert needed - {"pydantic", "starlette"} == installed  # fastapi brings both


def test_the_sandbox_imports_nothing_of_the_project_or_of_airflow() -> None:
    script = "import sys, bms_sandbox.__main__, bms_sandbox.serve; print(*sys.modules)"
    found = subprocess.run(  # noqa: S603 - constant
        [sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True
    ).stdout.split()
    loaded = {name.partition(".")[0] for name in found}
    assert loaded.isdisjoint({"airflow", "bms", "bms_flows", "bms_warehouse", "sqlalchemy"})


@pytest.mark.parametrize(
    "named",
    [
        "AIRFLOW__CORE__AUTH_MANAGER",
        "TEST_CONNECTION",
        "AIRFLOW_CONN_BMS_DEFAULT",
        "bms service --confirm",
        "AIRFLOW_PORT",
        "POSTGRES_PASSWORD",
        "REDIS_PASSWORD",
        "BMS_DATA_ROOT",
        "BMS_NOTICE_WEBHOOK",
        "GRAFANA_ADMIN_PASSWORD",
        ".env",
    ],
)
def test_production_changes_are_listed_in_one_place(named: str) -> None:
    text = Path(PROJECT / "docs/security.md").read_text()
    section = text.partition("\n## Change before production\n")[2].partition("\n## ")[0]
    assert named in section


def test_the_connection_test_is_off_unless_the_operator_allows_it() -> None:
    """The Test button makes the API server send requests to any address that a user enters."""
    for name in ("api-server", "scheduler", "worker"):
        setting = SERVICES[name]["environment"]["AIRFLOW__CORE__TEST_CONNECTION"]
        assert setting == "${TEST_CONNECTION:-Disabled}"
