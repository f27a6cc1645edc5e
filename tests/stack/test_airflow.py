import importlib
import re
from pathlib import Path

import pytest

from bms_flows.audit.settings import AuditSettings
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.settings import without_effect
from stack import airflow
from stack.paths import Secrets, StackPaths
from stack.processes import TAG_VARIABLE

SECRETS = Secrets("pw", "fernet", "jwt", "api", "client", "secret")


@pytest.fixture
def paths(tmp_path: Path) -> StackPaths:
    return StackPaths(tmp_path, tmp_path / ".local")


def environment(environ: dict[str, str], paths: StackPaths) -> dict[str, str]:
    return airflow.environment(
        environ,
        paths,
        SECRETS,
        database="postgresql+psycopg2://ours",
        port=4711,
        warehouse='{"conn_type": "postgres"}',
    )


def test_the_users_variables_are_passed_on(paths: StackPaths) -> None:
    preset = {
        "BMS_DATA_ROOT": "s3://bucket/prefix",
        "BMS_ANYTHING": "1",
        "AIRFLOW_CONN_BMS_WAREHOUSE": "postgres://own",
        "AIRFLOW_VAR_X": "y",
        "AIRFLOW__CORE__PARALLELISM": "16",
        "AIRFLOW__CORE__DAGS_FOLDER": "/elsewhere",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "DEBUG",
        "PATH": "/bin",
    }
    assert environment(preset, paths).items() >= preset.items()


def test_tasks_warn_of_no_variable_that_the_stack_sets(paths: StackPaths) -> None:
    kinds = (AuditSettings, OnboardingSettings)
    assert list(without_effect([*environment({}, paths), TAG_VARIABLE], kinds)) == []


def test_defaults_apply_without_presets(paths: StackPaths) -> None:
    found = environment({}, paths)
    assert found["BMS_DATA_ROOT"] == f"file://{paths.local}/data"
    assert found["AIRFLOW_CONN_BMS_WAREHOUSE"] == '{"conn_type": "postgres"}'
    assert found["AIRFLOW__CORE__DAGS_FOLDER"] == str(paths.root / "dags")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://production"),
        ("AIRFLOW_HOME", "/production"),
        ("AIRFLOW__CORE__EXECUTOR", "CeleryExecutor"),
        ("AIRFLOW__CORE__FERNET_KEY", "theirs"),
        ("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "True"),
        ("AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK", "True"),
        ("AIRFLOW__API__HOST", "0.0.0.0"),  # noqa: S104 - must be overridden
    ],
)
def test_presets_that_reach_outside_the_stack_are_overridden(
    name: str, value: str, paths: StackPaths
) -> None:
    assert environment({name: value}, paths)[name] != value


def test_loopback_is_added_to_the_proxy_exceptions(paths: StackPaths) -> None:
    found = environment({"HTTPS_PROXY": "http://proxy", "no_proxy": "intranet"}, paths)
    assert found["no_proxy"] == "intranet,127.0.0.1,localhost"
    assert found["NO_PROXY"] == "127.0.0.1,localhost"


def test_log_servers_are_off_and_the_api_server_is_on_loopback() -> None:
    commands = airflow.components(4711)
    assert "--skip-serve-logs" in commands["scheduler"]
    assert "--skip-serve-logs" in commands["triggerer"]
    assert commands["api-server"][-4:] == ("--host", "127.0.0.1", "--port", "4711")


def test_the_scheduler_has_imported_what_tasks_import() -> None:
    """A module that each task imports again costs each task a second."""
    command = airflow.components(4711)["scheduler"]
    assert command[-2:] == ("scheduler", "--skip-serve-logs")
    [loaded] = re.findall(r"import (bms_[\w., ]+);", " ".join(command))
    for module in loaded.split(", "):
        importlib.import_module(module)
    mains = ("onboarding.onboarding", "invoices.run", "mirror.run")
    assert {f"bms_flows.{each}" for each in mains} <= {*loaded.split(", ")}


def test_repr_contains_no_secret() -> None:
    assert "fernet" not in repr(SECRETS)
