"""The freshness task of the watchdog, with a real warehouse and a real webhook."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from bms_flows.onboarding.inbox import unclaimed
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.inbox.templates import InboxGone
from bms_flows.runtime.notice import NotDelivered
from bms_flows.runtime.settings import InvalidSetting
from bms_provider.operators.flows.checks import BmsWatchFreshnessOperator
from tests.bms_provider.conftest import RecordLoad
from tests.listeners import Webhook
from tests.support.drops import add_drop
from tests.support.sql import fetch

pytestmark = pytest.mark.usefixtures("warehouse_connection", "data_root")


def check() -> dict[str, str]:
    return BmsWatchFreshnessOperator(task_id="watch").execute({})


def test_a_check_sends_one_message_per_alarm_and_returns_the_states(
    record_load: RecordLoad, messages: Webhook
) -> None:
    record_load(2)
    states = [check() for _ in range(2)]
    assert states[0]["contact_sync"] == "late"
    assert states[0]["invoice_extraction"] == "never_ran"
    record_load(-0.1)
    check()
    assert messages.titles == ["Alarm: contact_sync (late)", "Recovered: contact_sync (late)"]


def test_a_check_creates_the_inboxes(data_root: Path) -> None:
    """On a fresh installation, no file can be dropped before the inboxes exist."""
    check()
    made = {each.relative_to(data_root).as_posix() for each in (data_root / "inbox").rglob("*")}
    for inbox in ("employees", "contacts", "consultants"):
        assert {f"inbox/{inbox}/_LISEZMOI.txt", f"inbox/{inbox}/_modele_{inbox}.xlsx"} <= made


def test_the_template_marks_what_the_rules_require(
    data_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules.toml").write_text('[contact]\nrequired = ["email"]\n')
    monkeypatch.setenv("BMS_RULES", str(tmp_path / "rules.toml"))
    check()
    folder = data_root / "inbox" / "contacts"
    [header, _] = (folder / "_modele_contacts.csv").read_text("utf-8-sig").splitlines()
    assert [each for each in header.split(";") if "*" in each] == ["E-mail *"]
    lines = (folder / "_LISEZMOI.txt").read_text("utf-8-sig").splitlines()
    assert next(line for line in lines if line.startswith("* ")).startswith("* E-mail [email]")


def test_a_check_withdraws_a_drop_whose_file_was_removed(warehouse: Engine) -> None:
    seen = FoundFile("a.csv", 1, "1")
    unclaimed.save(warehouse, "employee", [seen], {"a.csv": "incomplete"})
    check()
    found = fetch(warehouse, "select state, reason from bms.dropped_file")
    assert found == [("withdrawn", "removed")]


def test_a_check_tends_the_inboxes_while_no_channel_accepts_messages(
    record_load: RecordLoad, messages: Webhook, data_root: Path
) -> None:
    record_load(2)
    messages.status = 404
    with pytest.raises(NotDelivered):
        check()
    assert (data_root / "inbox" / "contacts" / "_LISEZMOI.txt").exists()


def test_a_check_sends_messages_although_the_inboxes_cannot_be_tended(
    record_load: RecordLoad, messages: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_load(2)
    monkeypatch.setenv("BMS_RULES", str(tmp_path / "deleted.toml"))
    with pytest.raises(InvalidSetting, match=r"deleted\.toml"):
        check()
    assert messages.titles == ["Alarm: contact_sync (late)"]


def test_an_inbox_that_is_gone_opens_an_alarm_until_it_is_there(
    warehouse: Engine, messages: Webhook, data_root: Path
) -> None:
    """Nothing else notices a volume that isn't mounted: no file is announced, so no run fails."""
    check()
    add_drop(warehouse, archive="archive/a.csv")
    folder = data_root / "inbox" / "employees"
    folder.rename(data_root / "unmounted")
    for _ in range(2):
        with pytest.raises(InboxGone):
            check()
    assert (data_root / "inbox" / "contacts").exists()
    (data_root / "unmounted").rename(folder)
    check()
    code = "inbox (data_root_unusable)"
    assert messages.titles == [f"Alarm: {code}", f"Recovered: {code}"]
