from pathlib import Path

import pytest

from stack import airflow
from stack.place import Keys, Place

KEYS = Keys("pw", "fernet", "jwt", "api", "client", "secret")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, tmp_path / ".local")


def made(given: dict[str, str], place: Place) -> dict[str, str]:
    return airflow.environment(
        given,
        place,
        KEYS,
        database="postgresql+psycopg2://ours",
        port=4711,
        warehouse='{"conn_type": "postgres"}',
    )


def test_everything_of_the_user_is_passed_through(place: Place) -> None:
    given = {
        "BMS_DATA_ROOT": "s3://bucket/prefix",
        "BMS_ANYTHING": "1",
        "AIRFLOW_CONN_BMS_WAREHOUSE": "postgres://own",
        "AIRFLOW_VAR_X": "y",
        "AIRFLOW__CORE__PARALLELISM": "16",
        "AIRFLOW__CORE__DAGS_FOLDER": "/elsewhere",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "DEBUG",
        "PATH": "/bin",
    }
    assert made(given, place).items() >= given.items()


def test_defaults_stand_where_nothing_is_preset(place: Place) -> None:
    found = made({}, place)
    assert found["BMS_DATA_ROOT"] == f"file://{place.local}/data"
    assert found["AIRFLOW_CONN_BMS_WAREHOUSE"] == '{"conn_type": "postgres"}'
    assert found["AIRFLOW__CORE__DAGS_FOLDER"] == str(place.root / "dags")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://production"),
        ("AIRFLOW_HOME", "/production"),
        ("AIRFLOW__CORE__EXECUTOR", "CeleryExecutor"),
        ("AIRFLOW__CORE__FERNET_KEY", "theirs"),
        ("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "True"),
        ("AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK", "True"),
        ("AIRFLOW__API__HOST", "0.0.0.0"),  # noqa: S104 - what must not come through
    ],
)
def test_a_preset_that_reaches_outside_the_stack_does_not_come_through(
    name: str, value: str, place: Place
) -> None:
    assert made({name: value}, place)[name] != value


def test_loopback_goes_past_a_proxy_whose_exceptions_are_kept(place: Place) -> None:
    found = made({"HTTPS_PROXY": "http://proxy", "no_proxy": "intranet"}, place)
    assert found["no_proxy"] == "intranet,127.0.0.1,localhost"
    assert found["NO_PROXY"] == "127.0.0.1,localhost"


def test_log_servers_are_left_out_and_the_page_is_on_loopback() -> None:
    commands = airflow.components(4711)
    assert "--skip-serve-logs" in commands["scheduler"]
    assert "--skip-serve-logs" in commands["triggerer"]
    assert commands["api-server"][-4:] == ("--host", "127.0.0.1", "--port", "4711")


def test_secrets_are_not_in_a_repr() -> None:
    assert "fernet" not in repr(KEYS)
