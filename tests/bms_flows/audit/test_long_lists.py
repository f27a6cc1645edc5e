"""Audits of long lists in parts."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from bms_flows.audit.settings import AuditSettings
from bms_flows.runtime.windows import Window
from bms_sandbox.demo_records import LISTS
from bms_sandbox.serve import Sandbox
from tests.bms_flows.audit.environment import TODAY, Auditor

PARTS = 8
CYCLE = PARTS // 2
"""Audits that compare each part once."""
PAGE = 20
"""Rows per page; a part has one page here."""


@pytest.fixture
def auditor(auditor: Auditor, sandbox: Sandbox) -> Auditor:
    """Audits whose budget suffices for about two parts of the contacts per day."""
    auditor.settings = AuditSettings(audit_requests=62, audit_days=2)
    yesterday = TODAY - timedelta(days=1)
    auditor.window = Window(yesterday - timedelta(days=1), yesterday)
    sandbox.fill(**dict.fromkeys(LISTS, 4) | {"contacts": PARTS * PAGE, "employees": 3})
    auditor.load()
    return auditor


def audit(auditor: Auditor) -> None:
    """Run the mirror of contacts, then the audit of a day."""
    auditor.mirror.run("contact", page_size=100)
    auditor.run_in_turn(page_size=PAGE)


@pytest.fixture
def wrong_row(auditor: Auditor) -> None:
    """A contact that the mirror has otherwise than the service, and its alarm."""
    auditor.execute("update bms.contact set city = 'Ailleurs' where id = 1003")
    for _ in range(PARTS):
        audit(auditor)
        if auditor.ringing():
            break
    assert auditor.ringing() == {"reconciliation contact"}


@pytest.mark.usefixtures("wrong_row")
def test_an_alarm_stays_open_while_only_other_parts_are_reconciled(auditor: Auditor) -> None:
    """Also if the list gets another order, which moves the row to another part."""
    for order in ("id", "id_desc"):
        auditor.sandbox.set_dialect(list_order=order)
        for _ in range(CYCLE):
            audit(auditor)
            assert auditor.ringing() == {"reconciliation contact"}
    city = auditor.mirror.contact(1003)["city"]
    auditor.execute(f"update bms.contact set city = '{city}' where id = 1003")
    for _ in range(CYCLE):
        auditor.run_in_turn(page_size=PAGE)
    assert auditor.ringing() == set()


def test_every_part_is_compared_in_a_cycle_and_the_cycle_is_projected(auditor: Auditor) -> None:
    found = [auditor.run_in_turn(page_size=PAGE) for _ in range(CYCLE)]
    parts = auditor.query(
        "select part, parts, state from bms.reconciliation where resource = 'contact' order by 1"
    )
    assert parts == [(part, PARTS, "reconciled") for part in range(1, PARTS + 1)]
    assert all(each["requests"] <= auditor.settings.audit_requests for each in found)
    assert found[-1]["cycle"]["contact"]["days"] <= CYCLE


@pytest.mark.parametrize(
    ("size", "dialect"),
    [
        (100, {"ignored_parameters": ["page_size"]}),
        (80, {"page_size_step": 80}),
        (81, {"page_size_step": 81}),
    ],
)
def test_a_service_with_one_page_size_is_audited(
    auditor: Auditor, size: int, dialect: dict[str, Any]
) -> None:
    auditor.sandbox.fill(contacts=4 * 80, consultants=0, employees=0)
    auditor.mirror.run("contact", page_size=100)
    auditor.sandbox.set_dialect(**dialect)
    auditor.execute(
        "update bms.contact set city = '?' where id = (select max(id) from bms.contact)"
    )
    for _ in range(4):
        auditor.run_in_turn(page_size=size)
    differing = auditor.query(
        "select distinct found || pending from bms.reconciliation"
        " where resource = 'contact' and state <> 'reconciled'"
    )
    assert differing == [({"rows_differ": 1},)]


def test_an_audit_of_a_part_reads_only_that_part_of_the_mirror(auditor: Auditor) -> None:
    loaded: list[int] = []

    def count(_: Any, cursor: Any, statement: str, *__: Any) -> None:
        if "FROM bms.contact" in statement:
            loaded.append(cursor.rowcount)

    event.listen(auditor.warehouse, "after_cursor_execute", count)
    auditor.run_in_turn(page_size=PAGE)
    event.remove(auditor.warehouse, "after_cursor_execute", count)
    (compared,) = auditor.query(
        "select sum(rows_compared) from bms.reconciliation where resource = 'contact'"
    )
    assert sum(loaded) == compared[0] < PARTS * PAGE


def test_a_cycle_beyond_the_limit_raises_an_alarm(auditor: Auditor) -> None:
    auditor.settings = AuditSettings(audit_requests=62, audit_days=2, audit_cycle_days=1)
    auditor.run_in_turn(page_size=PAGE)
    assert auditor.ringing() == {"reconciliation cycle contact"}
    auditor.settings = AuditSettings(audit_requests=62, audit_days=2, audit_cycle_days=30)
    auditor.run_in_turn(page_size=PAGE)
    assert auditor.ringing() == set()


def test_a_detail_that_differs_is_read_again_until_it_agrees(auditor: Auditor) -> None:
    """Each sample of details contains other rows."""
    auditor.sandbox.set_fault("stale_detail", operation="read_contact", count=2)
    auditor.run_in_turn(page_size=PAGE)
    (rows,) = auditor.query("select rows from bms.reconciliation where found <> '{}'")
    assert rows
    for _ in range(2 * PARTS):
        auditor.run_in_turn(page_size=PAGE)
        if not auditor.ringing():
            break
    assert auditor.ringing() == set()


@pytest.mark.usefixtures("wrong_row")
def test_a_row_removed_from_service_and_mirror_closes_its_alarm(auditor: Auditor) -> None:
    auditor.sandbox.delete("contacts", 1003)
    for _ in range(3):
        audit(auditor)
    assert auditor.ringing() == set()
