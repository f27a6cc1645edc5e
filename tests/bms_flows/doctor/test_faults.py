"""The command `bms doctor`: each seeded fault is named with its remedy; tests/e2e has those of Airflow."""

import json
import os
import resource
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, make_url, text
from upath import UPath

from bms_cli.app import main
from bms_flows.doctor import machine
from bms_flows.runtime import service_identity
from bms_flows.runtime.step_log import own_version
from bms_flows.texts import SECTIONS
from bms_sandbox.serve import Sandbox
from bms_warehouse import database
from stack.processes import until
from tests.bms_warehouse import test_pooler as poolers
from tests.listeners import webhook
from tests.support.databases import new_database
from tests.support.patience import LONG_S
from tests.support.sql import execute, scalar

AIRFLOW = {"Airflow's components", "DAGs", "import errors", "pool", "version in Airflow"}
Doctor = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture(autouse=True)
def environment(
    sandbox: Sandbox, warehouse_uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment of a healthy deployment, without access to Airflow."""
    for name in [*os.environ]:
        if name.startswith("BMS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("BMS_WAREHOUSE_URL", warehouse_uri)
    monkeypatch.setenv("BMS_DATA_ROOT", str(tmp_path))
    connect(sandbox, monkeypatch)


def connect(
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    *,
    host: str | None = None,
    secret: str | None = None,
    application_id: str | None = None,
) -> None:
    given = sandbox.credentials
    connection = {
        "conn_type": "bms",
        "host": host or sandbox.url,
        "login": given.client_id,
        "password": secret or given.secret,
        "extra": {
            "application_id": given.application_id if application_id is None else application_id
        },
    }
    monkeypatch.setenv("AIRFLOW_CONN_BMS_DEFAULT", json.dumps(connection))


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    def run(*arguments: str) -> tuple[int, dict[str, Any]]:
        code = main(["doctor", *arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def named(found: tuple[int, dict[str, Any]]) -> dict[str, str]:
    """Return the details of the findings by code; each has the remedy of its section."""
    code, report = found
    assert code == 1
    for each in report["findings"]:
        assert each["remedy"] == SECTIONS[each["code"]].do
    return {each["code"]: each["detail"] for each in report["findings"]}


def test_a_healthy_deployment_has_no_findings_and_airflow_is_not_checked(doctor: Doctor) -> None:
    code, report = doctor()
    assert report["findings"] == []
    assert code == 2
    assert {*report["not_checked"]} == AIRFLOW
    assert "BMS_AIRFLOW_USER" in report["not_checked"]["pool"]
    assert len(report["checked"]) >= 11


def test_the_text_names_what_is_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 2
    assert "pool: not checked: set BMS_AIRFLOW_USER" in capsys.readouterr().out


def test_a_server_that_does_not_answer(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BMS_WAREHOUSE_URL", "postgresql://user:pass-word-1@127.0.0.1:1/none")
    found = named(doctor())
    assert "no server listens at the address" in found["warehouse_unreachable"]
    assert "pass-word-1" not in str(found)


def test_commits_that_wait_for_a_standby(doctor: Doctor, warehouse: Engine, postgres: str) -> None:
    server = database.connect(postgres, isolation_level="AUTOCOMMIT")
    execute(server, "alter system set synchronous_standby_names = 'nobody'")
    try:
        execute(server, "select pg_reload_conf()")
        waits = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"
        waits += " and state_change < now() - interval '3 s'"
        commit = threading.Thread(target=execute, args=(warehouse, "create table public.waits ()"))
        commit.start()
        assert until(lambda: scalar(server, waits) == 1, LONG_S)
        assert "synchronous_standby_names" in named(doctor())["warehouse_unreachable"]
    finally:
        execute(server, "alter system reset synchronous_standby_names")
        execute(server, "select pg_reload_conf()")
    commit.join()
    server.dispose()


@pytest.mark.parametrize(
    ("server", "code", "reason"),
    [
        ("PgBouncer", "pooler_found", "Connect to PostgreSQL itself"),
        ("PostgreSQL 13", "server_too_old", "older than version 14: upgrade it"),
    ],
)
def test_a_server_that_refuses_the_session(
    doctor: Doctor,
    warehouse_uri: str,
    server: str,
    code: str,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with poolers.proxy(warehouse_uri, poolers.SERVERS[server]) as uri:
        monkeypatch.setenv("BMS_WAREHOUSE_URL", uri)
        found = named(doctor())
        assert main(["migrate"]) == 2
    assert reason in found[code]
    assert "warehouse_unreachable" not in found
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "detail"),
    [
        ("encoding 'SQL_ASCII' locale 'C'", "encoding_unsupported", "SQL_ASCII"),
        ("", "schema_missing", ""),
    ],
)
def test_a_database_without_utf_8_or_schema(
    doctor: Doctor,
    postgres: str,
    options: str,
    code: str,
    detail: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with new_database(postgres, f"{options} template template0") as other:
        uri = other.url.render_as_string(hide_password=False)
        monkeypatch.setenv("BMS_WAREHOUSE_URL", uri)
        assert detail in named(doctor())[code]


def test_a_schema_of_another_version(doctor: Doctor, warehouse: Engine) -> None:
    execute(warehouse, "update bms.schema_version set version_num = '0000'")
    found = named(doctor())
    assert "revision 0000, the code requires" in found["upgrade_failed"]


READ = ("grant usage on schema bms, bms_private to", "grant select on all tables in schema bms to")
USE = (*READ, "grant all on all tables in schema bms, bms_private to")


@pytest.mark.parametrize(
    ("grants", "option", "lacking"),
    [
        ((), "", "the user lacks a privilege"),
        (READ, "", "bms.alarm: INSERT, UPDATE, DELETE"),
        (USE, "", ": TEMPORARY"),
        (USE, "-c default_transaction_read_only=on", "connect to the primary"),
    ],
)
def test_an_ordinary_user_without_rights(
    doctor: Doctor,
    warehouse: Engine,
    warehouse_uri: str,
    grants: tuple[str, ...],
    option: str,
    lacking: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    role = f"reader_{secrets.token_hex(4)}"
    with warehouse.begin() as connection:
        connection.execute(
            text(f"revoke temporary on database {warehouse.url.database} from public")
        )
        connection.execute(text(f"create role {role} login"))
        for grant in grants:
            connection.execute(text(f"{grant} {role}"))
    url = make_url(warehouse_uri).set(username=role).update_query_dict({"options": option})
    monkeypatch.setenv("BMS_WAREHOUSE_URL", url.render_as_string(hide_password=False))
    try:
        _, report = doctor()
    finally:
        with warehouse.begin() as connection:
            connection.execute(text(f"drop owned by {role}"))
            connection.execute(text(f"drop role {role}"))
    found = [each["detail"] for each in report["findings"] if each["code"] == "privilege_missing"]
    assert lacking in str(found)


def test_disks_without_room(doctor: Doctor) -> None:
    found = named(doctor("--free-gb", "1000000"))
    assert "1000000.0 GB wanted" in found["data_root_low"]
    assert "1000000.0 GB wanted" in found["database_disk_low"]


def test_a_data_root_without_room_is_named_as_full(tmp_path: Path) -> None:
    """A full disk takes the name of a file, but no byte."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        [found] = machine.data_root(UPath(tmp_path), 0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert found.code == "data_root_low"
    assert [*tmp_path.iterdir()] == []


def test_a_data_root_that_is_not_there(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_DATA_ROOT", str(tmp_path / "nowhere"))
    assert "is no folder" in named(doctor())["data_root_unusable"]


def test_a_clock_that_is_ahead_of_database_and_service(project: Path) -> None:
    program = (
        "import sitecustomize, sys; sitecustomize.jump(3600)\n"
        "from bms_cli.app import main; sys.exit(main(['doctor', '--json']))"
    )
    paths = [project / "tests/proofs/wall_clock", project / "include", project]
    done = subprocess.run(  # noqa: S603 - this file's own program
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": ":".join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    findings = json.loads(done.stdout)["findings"]
    skews = [each["detail"] for each in findings if each["code"] == "clock_skew"]
    assert ["database" in skews[0], "service" in skews[1]] == [True, True]


@pytest.mark.parametrize(
    ("given", "code", "detail"),
    [
        ({"host": "http://127.0.0.1:1"}, "service_unreachable", ""),
        ({"secret": "wrong-secret-1"}, "TokenRefused", ""),
        (
            {"application_id": ""},
            "connection_invalid",
            "Connection bms_default: extra application_id (Application ID) is empty.",
        ),
    ],
    ids=["no answer", "refused secret", "no application id"],
)
def test_a_wrong_connection(
    doctor: Doctor,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, str],
    code: str,
    detail: str,
) -> None:
    connect(sandbox, monkeypatch, **given)
    found = named(doctor())
    assert detail in found[code]
    assert "wrong-secret-1" not in str(found)


def test_a_missing_scope(doctor: Doctor, sandbox: Sandbox) -> None:
    sandbox.set_dialect(granted_scopes=["read:contact", "read:employee"])
    assert "write:employee" in named(doctor())["MissingScope"]


def test_another_service_than_the_warehouse_s(doctor: Doctor, warehouse: Engine) -> None:
    other = service_identity.ServiceIdentity.of("https://bms.example.com", "app")
    service_identity.confirm(warehouse, other)
    assert "filled from bms.example.com" in named(doctor())["ServiceMismatch"]


def test_a_retired_and_a_misspelt_setting(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BMS_KEEP_PARQUET_DAYS", "BMS_LOOKBAK_DAYS"):
        monkeypatch.setenv(name, "3")
        assert name in named(doctor())["setting_without_effect"]
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [("LOOKBACK_DAYS", "many"), ("PHONE_REGION", "UK"), ("HOLIDAYS", "ZZ"), ("RULES", "/no/rules.toml"),
     ("NOTICE_WEBHOOK", "https://[chat"), ("NOTICE_SMTP", "smtp://mail")],
)  # fmt: skip
def test_a_setting_with_an_invalid_value(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"BMS_{name}", value)
    named_in = value if name == "RULES" else f"BMS_{name}"
    assert named_in in named(doctor())["setting_invalid"]


def test_an_old_process_that_still_runs(doctor: Doctor, warehouse: Engine) -> None:
    statement = """
        insert into bms.step_run (flow, dag_run_id, step, state, version, started_at)
        values ('contact_sync', 'r', 'sync', 'running', :version, now() - cast(:ago as interval))
    """
    with warehouse.begin() as connection:
        for version, hours in (("0.0.9", 3), (own_version(), 2)):
            ago = {"version": version, "ago": timedelta(hours=hours)}
            connection.execute(text(statement), ago)
    assert doctor()[1]["findings"] == [], "the steps before the upgrade"
    execute(warehouse, statement, version="0.0.9", ago=timedelta(hours=1))
    found = named(doctor())["versions_differ"]
    assert "1 steps ran version 0.0.9" in found
    assert "CE" in found, "the zone of the company, as everywhere"


def test_airflow_that_does_not_answer_is_not_checked(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_AIRFLOW_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("BMS_AIRFLOW_USER", "admin")
    monkeypatch.setenv("BMS_AIRFLOW_PASSWORD", "pass-word-2")
    code, report = doctor()
    assert code == 2
    assert {*report["not_checked"]} == AIRFLOW
    assert "pass-word-2" not in str(report)


def test_a_redirect_of_airflow_is_named_and_gets_no_token(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_AIRFLOW_USER", "admin")
    monkeypatch.setenv("BMS_AIRFLOW_PASSWORD", "pass-word-2")
    with webhook() as other, webhook(302, f"{other.url}/auth/token") as airflow:
        monkeypatch.setenv("BMS_AIRFLOW_URL", airflow.url)
        _, report = doctor()
    assert "redirect: set BMS_AIRFLOW_URL" in report["not_checked"]["pool"]
    assert (other.visits, len(other.taken)) == (0, 0)


def test_the_room_of_a_database_elsewhere_is_probed_and_given_back(warehouse: Engine) -> None:
    from bms_flows.doctor import warehouse as checks

    with warehouse.connect() as connection:
        connection.execute(text("set role pg_monitor"))  # may not read the server's files
        assert list(checks.disk(connection, 0)) == []
    assert database.now(warehouse)
