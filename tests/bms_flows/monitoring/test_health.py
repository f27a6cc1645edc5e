"""Health command: exit status, JSON and messages."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, make_url, text

from bms_cli.app import main
from bms_flows.monitoring import alarms, health
from tests.listeners import Webhook, webhook
from tests.support.steps import add_step

NOWHERE = "postgresql://somebody:pass-word-1@127.0.0.1:1/bms"


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    with webhook() as found:
        monkeypatch.setenv("BMS_NOTICE_WEBHOOK", found.url)
        yield found


class Command:
    """The command as cron runs it, with an outage file in a temporary folder."""

    def __init__(self, capsys: pytest.CaptureFixture[str], url: str, memory: Path) -> None:
        self._capsys, self._url, self._memory = capsys, url, memory
        self.errors = ""

    def __call__(self, *arguments: str, url: str | None = None) -> tuple[int, Any]:
        given = ("--url", url or self._url, "--memory", str(self._memory), *arguments)
        code = main(["health", "--json", *given])
        out, self.errors = self._capsys.readouterr()
        return code, json.loads(out) if out else None


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], warehouse_uri: str, tmp_path: Path) -> Command:
    return Command(capsys, warehouse_uri, tmp_path / "state" / "memory")


def load(warehouse: Engine, hours: float) -> None:
    add_step(
        warehouse, datetime.now(UTC) - timedelta(hours=hours), dag_run_id=f"scheduled__{hours}"
    )


def test_healthy_flows_return_0(command: Command, warehouse: Engine) -> None:
    load(warehouse, 1)
    code, said = command()
    assert (code, said["state"], said["alarms"]) == (0, "well", [])
    assert said["flows"]["contact_sync"]["state"] == "fresh"
    assert said["flows"]["contact_sync"]["age_s"] == pytest.approx(3600, abs=60)
    assert said["flows"]["contact_sync"]["limit_s"] == 5400
    assert said["flows"]["invoice_extraction"]["state"] == "never_ran"


def test_a_missed_target_returns_1_and_writes_nothing_without_notify(
    command: Command, warehouse: Engine
) -> None:
    load(warehouse, 2)
    code, said = command()
    assert (code, said["state"], said["alarms"]) == (1, "alarm", [])
    assert said["flows"]["contact_sync"]["state"] == "late"


def test_alarms_are_sent_while_airflow_and_its_database_are_stopped(
    warehouse: Engine, warehouse_uri: str, messages: Webhook, tmp_path: Path
) -> None:
    """The command runs where Airflow can't be imported."""
    program = "import sys; sys.modules['airflow'] = None; from bms_cli.app import main; sys.exit(main(sys.argv[1:]))"
    given = (
        "health",
        "--notify",
        "--json",
        "--url",
        warehouse_uri,
        "--memory",
        str(tmp_path / "memory"),
    )
    stopped = {
        "AIRFLOW_HOME": str(tmp_path / "none"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql+psycopg2://airflow@127.0.0.1:1/airflow",
    }
    for hours, code in ((2, 1), (-0.01, 0)):
        load(warehouse, hours)
        ran = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", program, *given],
            env=os.environ | stopped,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stderr
    assert messages.titles == ["Alarm: contact_sync (late)", "Recovered: contact_sync (late)"]


def test_an_alarm_contains_its_flow(command: Command, warehouse: Engine) -> None:
    """The subject may be a drop, a day or a setting."""
    with warehouse.begin() as connection:
        alarms.raise_(
            connection, "failed", "contact_creation drop 3", detail="x", flow="contact_creation"
        )
    _, said = command()
    assert [each["flow"] for each in said["alarms"]] == ["contact_creation"]


@pytest.mark.parametrize("url", ["pass-word-1", "postgresql://a:pass-word-1@host:port/x"])
def test_an_invalid_address_returns_2_and_is_not_quoted(command: Command, url: str) -> None:
    code, said = command(url=url)
    assert (code, said) == (2, None)
    assert command.errors
    assert "pass-word-1" not in command.errors


def test_a_warehouse_that_accepts_no_writes_is_an_outage_before_an_alarm_is_due(
    command: Command, warehouse: Engine, warehouse_uri: str, messages: Webhook
) -> None:
    """No alarm could be recorded there, and each load fails."""
    load(warehouse, 0)
    url = make_url(warehouse_uri).update_query_dict(
        {"options": "-c default_transaction_read_only=on"}
    )
    read_only = url.render_as_string(hide_password=False)
    assert command(url=read_only)[0] == 0
    code, said = command("--notify", url=read_only)
    assert code == 2
    assert "connect to the primary" in said["reason"]
    assert messages.titles == ["Alarm: warehouse (warehouse_unreachable)"]


def test_a_locked_table_ends_the_check_without_an_answer(
    command: Command, warehouse: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VACUUM FULL takes this lock; cron would start a check every five minutes that waits for it."""
    monkeypatch.setattr(health, "ANSWER_S", 1)
    with warehouse.begin() as connection:
        connection.execute(text("lock table bms.step_run"))
        code, said = command()
    assert code == 2
    assert "a session has locked a table" in said["reason"]


def test_a_commit_that_waits_is_an_outage(
    command: Command, warehouse: Engine, messages: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A synchronous standby that is down stops every commit, and no time-out of PostgreSQL ends the wait."""
    load(warehouse, 2)
    with warehouse.begin() as connection:
        connection.execute(
            text("""
                create function public.wait() returns trigger language plpgsql as 'begin perform pg_sleep(30); end';
                create constraint trigger wait after insert on bms.alarm deferrable initially deferred
                    for each row execute function public.wait()
                """)
        )
    monkeypatch.setattr(health, "ANSWER_S", 1)
    code, said = command("--notify")
    assert (code, said["state"]) == (2, "unknown")
    assert "synchronous standby" in said["reason"]
    assert messages.titles == ["Alarm: warehouse (warehouse_unreachable)"]


@pytest.mark.parametrize("disk_was_full", [False, True])
def test_an_outage_of_the_warehouse_and_its_recovery_are_notified_once(
    command: Command, messages: Webhook, tmp_path: Path, *, disk_was_full: bool
) -> None:
    for _ in range(2):
        assert command("--notify", url=NOWHERE)[0] == 2
    if disk_was_full:
        (tmp_path / "state" / "memory").write_text("")
    for _ in range(2):
        assert command("--notify")[0] == 0
    assert messages.titles == [
        "Alarm: warehouse (warehouse_unreachable)",
        "Recovered: warehouse (warehouse_unreachable)",
    ]


def test_an_outage_file_that_cannot_be_written_is_named(
    command: Command, messages: Webhook, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    assert command("--notify", url=NOWHERE)[0] == 2
    assert "state/memory can't be written" in command.errors.replace("\n", "")
    assert len(messages.taken) == 1


def test_an_unavailable_channel_returns_2_and_delays_the_message(
    command: Command, warehouse: Engine, messages: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(warehouse, 2)
    with monkeypatch.context() as down:
        down.setenv("BMS_NOTICE_WEBHOOK", "http://127.0.0.1:1/hook-secret")
        code, said = command("--notify")
        assert (code, said["state"]) == (2, "alarm")
        assert "hook-secret" not in command.errors
    assert command("--notify")[0] == 1
    assert len(messages.taken) == 1


def test_a_full_disk_that_takes_the_output_delays_no_message(
    warehouse: Engine, warehouse_uri: str, messages: Webhook, tmp_path: Path
) -> None:
    load(warehouse, 2)
    given = ("--notify", "--url", warehouse_uri, "--memory", str(tmp_path / "memory"))
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "bms_cli", "health", "--json", *given],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (2, "bms: [Errno 28] No space left on device\n")
    assert messages.titles == ["Alarm: contact_sync (late)"]


def test_notify_requires_a_channel(command: Command) -> None:
    code, _ = command("--notify")
    assert code == 2
    assert "BMS_NOTICE_WEBHOOK" in command.errors
