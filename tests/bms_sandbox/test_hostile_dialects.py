"""Services whose lists, totals and amounts are wrong, over HTTP."""

import json
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from tests.bms_sandbox.caller import Caller

CONTACTS = "/v1/CRM/contacts"
INVOICES = "/v1/ERP/invoices/clients"
MARCH = {"id_entity": 1, "start_date": "2026-03-01", "end_date": "2026-03-31"}
NEW = {"first_name": "Zoé", "last_name": "De La Tour-Maubourg", "email": "zoe@noel.example"}


def page(caller: Caller, **query: Any) -> dict[str, Any]:
    content: dict[str, Any] = caller.get(CONTACTS, **({"filter": "ALL"} | query)).json()
    return content


def invoices(caller: Caller, **query: Any) -> list[dict[str, Any]]:
    answer = caller.get(INVOICES, **(MARCH | query))
    rows: list[dict[str, Any]] = json.loads(answer.body, parse_float=Decimal)
    return rows


@pytest.mark.parametrize(
    ("dialect", "total_pages"),
    [
        ({"page_size_max": 100}, 3),
        ({"page_size_max": 100, "page_size_over": "clamp_rows"}, 1),
        ({"page_size_max": 100, "total_pages_rounding": "down"}, 2),
        ({"page_size_max": 100, "total_pages_rounding": "beyond"}, 4),
    ],
)
def test_capped_pages_announce_a_total(
    caller: Caller, dialect: dict[str, Any], total_pages: int
) -> None:
    """250 contacts, of which a page never has more than 100."""
    caller.sandbox.set_dialect(**dialect)
    pages = [page(caller, page_size=1000, page_number=number) for number in (1, 2, 3)]
    assert [len(each["data"]) for each in pages] == [100, 100, 50]
    assert {each["total_pages"] for each in pages} == {total_pages}


def test_by_turns_lists_lack_new_rows_while_details_have_them(caller: Caller) -> None:
    sandbox = caller.sandbox
    sandbox.set_dialect(replica_lag=60)
    number = caller.post(CONTACTS, NEW).json()["id"]

    def listed() -> list[bool]:
        pages = [page(caller, page_size=1000)["data"] for _ in range(4)]
        return [number in [row["id"] for row in rows] for rows in pages]

    assert sorted(listed()) == [False, False, True, True]
    assert caller.get(f"{CONTACTS}/{number}").status == 200
    sandbox.advance(61)
    assert listed() == [True] * 4


def test_by_turns_invoices_lack_a_new_payment(caller: Caller) -> None:
    paid = next(row for row in invoices(caller) if row["status"] == "SENT")["id_invoice"]
    caller.sandbox.set_dialect(replica_lag=60)
    caller.sandbox.pay(1, paid)
    shown = ({row["id_invoice"]: row for row in invoices(caller)}[paid] for _ in range(4))
    assert Counter(row["status"] for row in shown) == {"SENT": 2, "PAID": 2}


@pytest.mark.parametrize(
    ("path", "asked", "ignored", "as_if"),
    [
        (INVOICES, MARCH | {"id_entity": 2}, "id_entity", {"id_entity": 1}),
        (INVOICES, MARCH | {"start_date": "2026-01-01"}, "*.start_date", MARCH),
        ("/v1/HR/employees", {"id_entity": 2}, "list_employees.id_entity", {"id_entity": 1}),
        (CONTACTS, {"filter": "DELETED"}, "list_contacts.filter", {"filter": "ALL"}),
        (CONTACTS, {"filter": "ALL", "page_number": 2}, "page_number", {"page_number": 1}),
        ("/v1/CRM/Consultants", {"type": "FREELANCE"}, "type", {"type": ""}),
    ],
)
def test_a_parameter_without_effect(
    caller: Caller, path: str, asked: dict[str, Any], ignored: str, as_if: dict[str, Any]
) -> None:
    effect = {name: value for name, value in (asked | as_if).items() if value != ""}
    expected = caller.get(path, **effect).body
    assert caller.get(path, **asked).body != expected
    caller.sandbox.set_dialect(ignored_parameters=[ignored])
    assert caller.get(path, **asked).body == expected
    caller.sandbox.set_dialect(ignored_parameters=["read_contact.*"])
    assert caller.get(path, **asked).body != expected


def test_each_response_lacks_other_rows(caller: Caller) -> None:
    whole = {row["id_invoice"] for row in invoices(caller)}
    caller.sandbox.set_fault("few_lost", operation="list_client_invoices")
    lost = [whole - {row["id_invoice"] for row in invoices(caller)} for _ in range(2)]
    assert lost[0].isdisjoint(lost[1])
    for each in lost:
        assert 0.04 < len(each) / len(whole) < 0.06


def test_a_company_can_bill_at_month_end_only(caller: Caller) -> None:
    caller.sandbox.fill(month_end=True, invoices_per_day=40)
    rows = invoices(caller, start_date="2026-02-01")
    plain = [row["invoice_date"] for row in rows if row["invoice_type"] == "INV"]
    assert {*plain} == {"2026-02-28", "2026-03-31"}
    assert all(30 < many < 50 for many in Counter(plain).values())


def test_a_response_can_repeat_the_one_before(caller: Caller) -> None:
    before = invoices(caller, end_date="2026-03-10")
    caller.sandbox.set_fault("stale_response", operation="list_client_invoices")
    assert invoices(caller, end_date="2026-03-10") == before
    assert invoices(caller, start_date="2026-03-11") == before


def test_a_signed_address_changes_with_every_response(caller: Caller) -> None:
    caller.sandbox.set_dialect(shown_forms=["client_name=volatile"])
    names = [[row["client_name"] for row in invoices(caller)] for _ in range(2)]
    assert all(one != other for one, other in zip(*names, strict=True))


@pytest.mark.parametrize("forms", [[], ["id_client=text"]])
def test_escaped_json_has_the_same_content(caller: Caller, forms: list[str]) -> None:
    sandbox = caller.sandbox
    created = caller.post(CONTACTS, NEW | {"notes": "é/\U0001f600 a: b, \\/"}).json()["id"]
    paths: list[tuple[str, dict[str, Any]]] = [
        (INVOICES, MARCH),
        (CONTACTS, {"filter": "ALL"}),
        (f"{CONTACTS}/{created}", {}),
    ]
    sandbox.set_dialect(shown_forms=forms)
    plain = [caller.get(path, **query).body for path, query in paths]
    sandbox.set_dialect(json_text="escaped")
    escaped = [caller.get(path, **query).body for path, query in paths]
    for body, was in zip(escaped, plain, strict=True):
        assert body.isascii()
        assert b'": ' in body
        assert json.loads(body, parse_float=Decimal) == json.loads(was, parse_float=Decimal)
    assert b"\\u00e9\\/\\ud83d\\ude00 a: b, \\\\\\/" in escaped[-1]
