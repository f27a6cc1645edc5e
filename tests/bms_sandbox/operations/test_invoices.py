import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from tests.bms_sandbox.caller import Caller

PATH = "/v1/ERP/invoices/clients"


def listed(caller: Caller, first: str, last: str, **query: Any) -> list[dict[str, Any]]:
    answer = caller.get(PATH, id_entity=1, start_date=first, end_date=last, **query)
    assert answer.status == 200
    rows: list[dict[str, Any]] = json.loads(answer.body, parse_float=Decimal)
    return rows


def days(rows: list[dict[str, Any]]) -> set[str]:
    return {row["invoice_date"] for row in rows}


def test_a_month_equals_the_ground_truth(caller: Caller) -> None:
    rows = listed(caller, "2026-03-01", "2026-03-31")
    truth = caller.sandbox.invoices(1, date(2026, 3, 1), date(2026, 3, 31))
    money = ("total_excl_vat", "total_vat", "total_incl_vat", "total_due")
    assert [r["id_invoice"] for r in rows] == [t["id_invoice"] for t in truth]
    assert [[str(r[m]) for m in money] for r in rows] == [[t[m] for m in money] for t in truth]
    assert len(rows) > 200


@pytest.mark.parametrize(
    ("reading", "expected"),
    [("inclusive", {"2026-03-26", "2026-03-27"}), ("exclusive", {"2026-03-26"})],
)
def test_end_date(caller: Caller, reading: str, expected: set[str]) -> None:
    caller.sandbox.set_dialect(end_date=reading)
    assert days(listed(caller, "2026-03-26", "2026-03-27")) == expected


@pytest.mark.parametrize("field", ["due_date", "created_on", "sent_on"])
def test_range_of_another_date(caller: Caller, field: str) -> None:
    caller.sandbox.set_dialect(range_date=field)
    rows = listed(caller, "2026-03-02", "2026-03-06")
    assert rows
    assert all("2026-03-02" <= row[field][:10] <= "2026-03-06" for row in rows)
    assert (days(rows) == {row[field][:10] for row in rows}) is (field == "created_on")


def test_later_day_sees_invoices_paid_sent_and_canceled(caller: Caller) -> None:
    before = {row["id_invoice"]: row for row in listed(caller, "2026-03-20", "2026-03-31")}
    caller.sandbox.advance(days=60)
    after = {row["id_invoice"]: row for row in listed(caller, "2026-03-20", "2026-03-31")}
    assert before.keys() == after.keys()
    moves = {(before[n]["status"], after[n]["status"]) for n in before}
    assert {("SENT", "PAID"), ("SENT", "CANCELED"), ("DRAFT", "PAID")} <= moves
    assert any(before[n]["total_due"] and not after[n]["total_due"] for n in before)


def test_manual_changes_are_visible_at_once(caller: Caller) -> None:
    sandbox = caller.sandbox
    rows = [r for r in listed(caller, "2026-03-30", "2026-03-30") if r["status"] == "SENT"]
    paid, canceled, gone, edited, *_ = (row["id_invoice"] for row in rows)
    sandbox.pay(1, paid, "1.00")
    sandbox.cancel(1, canceled, id_credit=77)
    sandbox.delete_invoice(1, gone)
    sandbox.edit_invoice(
        1, edited, invoice_subject="Changé", total_excl_vat="12.34", total_vat="0.00"
    )
    made = sandbox.insert_invoice(invoice_date="2026-03-30", client_name="Nouveau")["id_invoice"]
    now = {row["id_invoice"]: row for row in listed(caller, "2026-03-30", "2026-03-30")}
    assert now[paid]["status"] == "PARTIAL"
    assert now[paid]["total_due"] == now[paid]["total_incl_vat"] - 1
    assert (now[canceled]["canceled"], now[canceled]["id_credit"]) == (True, 77)
    assert gone not in now
    assert (now[edited]["invoice_subject"], now[edited]["total_incl_vat"]) == (
        "Changé",
        Decimal("12.34"),
    )
    assert now[made]["client_name"] == "Nouveau"


def test_no_invoice_of_the_future(caller: Caller) -> None:
    assert listed(caller, "2026-04-01", "2026-12-31") == []
    caller.sandbox.advance(days=1)
    assert days(listed(caller, "2026-04-01", "2026-12-31")) == {"2026-04-01"}


def test_languages_differ_in_names_only(caller: Caller) -> None:
    english, french = (listed(caller, "2026-03-02", "2026-03-02", language=x) for x in ("EN", "FR"))
    differing = {n for a, b in zip(english, french, strict=True) for n in a if a[n] != b[n]}
    assert differing == {"invoice_type_name", "payment_mode_name", "status_name"} & differing
    assert "status_name" in differing
    caller.sandbox.set_dialect(default_language="FR")
    assert listed(caller, "2026-03-02", "2026-03-02") == french


def test_longest_range(caller: Caller) -> None:
    caller.sandbox.set_dialect(longest_range=7)
    assert listed(caller, "2026-03-01", "2026-03-07")
    query = {"id_entity": 1, "start_date": "2026-03-01", "end_date": "2026-03-08"}
    assert caller.get(PATH, **query).status == 422


def test_unknown_entity_and_order(caller: Caller) -> None:
    query = {"start_date": "2026-03-02", "end_date": "2026-03-03"}
    assert caller.get(PATH, id_entity=9, **query).json() == []
    ids = [row["id_invoice"] for row in listed(caller, "2026-03-02", "2026-03-03")]
    caller.sandbox.set_dialect(unknown_entity="not_found", list_order="id_desc")
    assert caller.get(PATH, id_entity=9, **query).status == 404
    backwards = [row["id_invoice"] for row in listed(caller, "2026-03-02", "2026-03-03")]
    assert ids == sorted(ids) == backwards[::-1]


def test_range_that_ends_before_it_starts_is_empty(caller: Caller) -> None:
    assert listed(caller, "2026-03-02", "2026-03-01") == []


@pytest.mark.parametrize(("reading", "sent_on"), [("null", True), ("absent", False)])
def test_fields_without_value(caller: Caller, reading: str, sent_on: bool) -> None:
    caller.sandbox.set_dialect(nulls=reading)
    row = next(r for r in listed(caller, "2026-03-30", "2026-03-31") if not r["canceled"])
    assert ("canceled_on" in row) is sent_on
