"""Services that contradict themselves between two ways to read the same data."""

from datetime import date
from typing import Any

import pytest

from bms_sandbox.wrong_responses import BUGS
from tests.bms_sandbox.caller import Caller

DAY = date(2026, 3, 24)
WEEK = {"id_entity": 1, "start_date": "2026-03-23", "end_date": "2026-03-29"}
BUSY = {"id_entity": 1, "start_date": str(DAY), "end_date": str(DAY)}

SPOILS = {
    "silent_cap": {"week"},
    "first_day_lost": {"week"},
    "phantom_rows": {"week"},
    "doubled_range": {"week"},
    "stale_day": {"day", "french"},
    "french_amounts": {"french"},
    "french_lost": {"french"},
    "small_page_gap": {"few contacts"},
    "tail_page_lost": {"consultants"},
    "stale_detail": {"contact"},
}


def asked(caller: Caller) -> dict[str, Any]:
    """Return the same rows as returned by several different requests."""
    invoices, contacts = "/v1/ERP/invoices/clients", "/v1/CRM/contacts"
    consultants = "/v1/CRM/Consultants"
    return {
        "week": caller.get(invoices, **WEEK, language="EN").json(),
        "day": caller.get(invoices, **BUSY, language="EN").json(),
        "french": caller.get(invoices, **BUSY, language="FR").json(),
        "contacts": caller.get(contacts, filter="ALL", page_size=100).json(),
        "few contacts": caller.get(contacts, filter="ALL", page_size=50).json(),
        "consultants": caller.get(consultants, page_size=100).json(),
        "few consultants": caller.get(consultants, page_size=50).json(),
        "contact": caller.get(f"{contacts}/1003").json(),
    }


def test_every_bug_is_tested() -> None:
    assert SPOILS.keys() == BUGS.keys()


@pytest.mark.parametrize("bug", SPOILS)
def test_a_bug_corrupts_some_responses_identically(caller: Caller, bug: str) -> None:
    for row in caller.sandbox.invoices(1, DAY, DAY)[:3]:
        caller.sandbox.pay(1, row["id_invoice"], "1.00")
    right = asked(caller)
    caller.sandbox.set_fault(bug, operation=BUGS[bug].operation)
    wrong = asked(caller)
    assert {name for name in right if right[name] != wrong[name]} == SPOILS[bug]
    assert asked(caller) == wrong


def test_an_unstable_order_holds_the_same_rows(caller: Caller) -> None:
    right = asked(caller)["contacts"]["data"]
    caller.sandbox.set_fault("unstable_order", operation="list_contacts")
    one, other = (
        caller.get("/v1/CRM/contacts", filter="ALL", page_size=250).json() for _ in range(2)
    )
    assert one != other
    assert one["total_pages"] == 1
    ids = [sorted(row["id"] for row in each["data"]) for each in (one, other)]
    assert ids[0] == ids[1]
    assert {row["id"] for row in right} <= {*ids[0]}
