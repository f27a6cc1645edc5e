import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from bms.decoding import RecordReader
from bms.endpoints import BY_NAME, BY_OPERATION
from bms.records import described
from bms.typed_rows import typed_rows

INVOICE = {
    "id_invoice": 7,
    "total_excl_vat": 100,
    "total_vat": 20.10,
    "total_incl_vat": 120.10,
    "total_due": 0,
}


def typed(operation: str, *rows: dict[str, Any], zone: str = "Europe/Paris") -> list[Any]:
    record = BY_OPERATION[operation]
    reader = RecordReader(BY_NAME[operation], record)
    return list(typed_rows(reader.rows(json.dumps(rows).encode()), record, zone))


@pytest.mark.parametrize(
    ("operation", "field", "kind"),
    [
        ("list_client_invoices", "id_invoice", "integer"),
        ("list_client_invoices", "total_due", "amount"),
        ("list_client_invoices", "invoice_date", "day"),
        ("list_client_invoices", "created_on", "timestamp"),
        ("list_client_invoices", "canceled", "boolean"),
        ("list_client_invoices", "status", "text"),
        ("read_employee", "guid_employee", "text"),
        ("read_employee", "resident_permit_expiration_date", "day"),
        ("read_contact", "domains", "nested"),
        ("read_consultant", "rate", "amount"),
        ("read_consultant", "skills", "nested"),
    ],
)
def test_the_kind_of_a_field_follows_from_its_record(operation: str, field: str, kind: str) -> None:
    assert described(BY_OPERATION[operation])[field].kind == kind


def test_values_have_the_type_of_their_field() -> None:
    [row] = typed(
        "list_client_invoices",
        {
            **INVOICE,
            "invoice_date": "2026-03-02",
            "created_on": "2026-03-02T08:30:00",
            "sent_on": "2026-03-02T08:30:00Z",
            "canceled": False,
            "status": "PAID",
        },
    )
    assert (row["total_excl_vat"], row["total_vat"]) == (Decimal(100), Decimal("20.1"))
    assert all(isinstance(row[name], Decimal) for name in INVOICE if name != "id_invoice")
    assert row["invoice_date"] == date(2026, 3, 2)
    assert row["created_on"] == datetime(2026, 3, 2, 7, 30, tzinfo=UTC)
    assert row["sent_on"] == datetime(2026, 3, 2, 8, 30, tzinfo=UTC)
    assert row["due_date"] is None
    assert row["_extra"] == {}


def test_values_without_a_typed_field_are_in_extra() -> None:
    [row, plain] = typed(
        "list_client_invoices",
        {**INVOICE, "due_date": "31/03/2026", "id_client": "A12", "new_field": 1.50},
        INVOICE,
    )
    assert (row["due_date"], row["id_client"]) == (None, None)
    assert row["_extra"] == {
        "due_date": "31/03/2026",
        "id_client": "A12",
        "new_field": Decimal("1.5"),
    }
    assert plain["_extra"] == {}
    assert [*row] == [*described(BY_OPERATION["list_client_invoices"]), "_extra"]
