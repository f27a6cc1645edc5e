"""Notices about closed drops, sent to a real listener; a missing listener has no effect."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.onboarding.inbox import claim, closing
from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_provider import callbacks
from tests.listeners import Webhook, webhook

COUNTS = {
    "created": 2, "adopted": 0, "already_there": 0, "rejected": 1, "needs_review": 0, "waiting": 0,
}  # fmt: skip


pytestmark = pytest.mark.usefixtures("warehouse_connection")


@pytest.fixture
def messages(connect: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    with webhook() as found:
        connect("rh_chat", conn_type="http", host=found.url)
        monkeypatch.setenv("BMS_INBOX_NOTICES", '{"employees": "rh_chat"}')
        yield found


@pytest.fixture
def drop(warehouse: Engine, data_root: Path) -> Drop:
    """A drop that has ended, with its report."""
    taken = claim.claim_file(warehouse, "employee", FoundFile("Dupré.csv", 1, "1"))
    report = f"reports/employees/{taken.folder}"
    (data_root / report).mkdir(parents=True)
    receipt = {"counts": COUNTS, "plan": {"id": "ab" * 32}}
    (data_root / report / "receipt.json").write_text(json.dumps(receipt))
    with warehouse.begin() as connection:
        closing.finish(connection, taken, "applied", report=report, counts=COUNTS)
    return claim.get(warehouse, taken.id)


def context(drop: Drop) -> dict[str, Any]:
    """Return what Airflow gives the callback of a task."""
    return {
        "dag_run": SimpleNamespace(dag_id="employee_onboarding", run_id=drop.dag_run_id),
        "ti": SimpleNamespace(xcom_pull=lambda task_ids: {"drop": drop.id} if task_ids else None),
    }


def test_the_people_of_the_inbox_get_figures_and_a_link(
    drop: Drop, messages: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com/")
    callbacks.drop_ended(context(drop))
    [text] = messages.texts
    assert text.startswith(f"employees, dépôt {drop.id}\xa0: 2 créées, 1 rejetée\n")
    assert f"Compte rendu\xa0: https://airflow.example.com/bms/drops/{drop.id}\n" in text
    assert f"/dags/employee_onboarding/runs/{drop.dag_run_id}" in text
    assert "Dupré" not in text


def test_without_recipients_no_mail_is_sent(
    drop: Drop, messages: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_INBOX_NOTICES", '{"contacts": "rh_chat"}')
    callbacks.drop_ended(context(drop))
    assert messages.texts == []


def test_a_drop_without_a_report_sends_no_message(warehouse: Engine, messages: Webhook) -> None:
    taken = claim.claim_file(warehouse, "employee", FoundFile("a.csv", 1, "1"))
    callbacks.drop_ended(context(taken))
    assert messages.texts == []


def test_a_run_notifies_only_of_its_own_finished_drop(
    drop: Drop, warehouse: Engine, messages: Webhook
) -> None:
    held = claim.reopen(warehouse, drop.id, "manual__1")
    callbacks.drop_ended(context(held))  # its report is of before
    with warehouse.begin() as connection:
        closing.finish(connection, held, "applied", report=drop.report)
    callbacks.drop_ended(context(drop))  # its run was taken over
    assert messages.texts == []
    callbacks.drop_ended(context(held))
    assert len(messages.texts) == 1


@pytest.mark.parametrize("to", ["nowhere", "closed", "rh@example.com"])
def test_a_failed_message_is_logged_and_changes_nothing(
    to: str,
    drop: Drop,
    warehouse: Engine,
    connect: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    connect("closed", conn_type="http", host="http://127.0.0.1:9")
    monkeypatch.setenv("BMS_INBOX_NOTICES", json.dumps({"employees": to}))
    callbacks.drop_ended(context(drop))
    assert f"the notice of drop {drop.id} was not delivered" in caplog.text
    assert claim.get(warehouse, drop.id) == drop
