"""Tests of lossless decoding."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bms.created import read_created_employee, read_created_id
from bms.decoding import MAX_LEARNED, RecordReader
from bms.endpoints import BY_NAME
from bms.errors import InvalidRecords, MalformedResponse
from bms.records import ClientInvoice, ConsultantItem, Contact, ContactItem, EmployeeItem
from bms.responses import CreatedId

GUID = "7d4b9f1e-3c52-4a86-9b0d-5e2f8a6c1d37"
INVOICES = BY_NAME["list_client_invoices"]
GOOD = {
    "id_invoice": 1,
    "total_excl_vat": 1,
    "total_vat": 0.2,
    "total_incl_vat": 1.2,
    "total_due": 0,
}


@pytest.fixture
def invoices() -> RecordReader[ClientInvoice]:
    return RecordReader(INVOICES, ClientInvoice)


@pytest.fixture
def contacts() -> RecordReader[ContactItem]:
    return RecordReader(BY_NAME["list_contacts"], ContactItem)


def array(*rows: Any) -> bytes:
    return json.dumps([GOOD | row if isinstance(row, dict) else row for row in rows]).encode()


def money_text() -> st.SearchStrategy[str]:
    whole = st.integers(0, 10**20).map(str)
    fraction = st.one_of(
        st.just(""), st.text("0123456789", min_size=1, max_size=12).map(".{}".format)
    )
    power = st.one_of(st.just(""), st.integers(-9, 9).map("e{}".format))
    return st.builds("{}{}{}{}".format, st.sampled_from(["", "-"]), whole, fraction, power)


@given(money_text())
def test_amounts_keep_the_exact_digits(text: str) -> None:
    body = array({}).replace(b'"total_due": 0', b'"total_due": ' + text.encode())
    reader = RecordReader(INVOICES, ClientInvoice)
    for answer in (body, body.replace(b'"id_invoice": 1,', b'"id_invoice": 1.0,')):
        [record] = reader.rows(answer).records
        assert record.total_due == Decimal(text)
        assert record.total_due.as_tuple().exponent == Decimal(text).as_tuple().exponent


def test_null_and_absent_are_none(invoices: RecordReader[ClientInvoice]) -> None:
    rows = invoices.rows(array({"sent_on": None, "canceled": None}, {}))
    assert rows.records[0] == rows.records[1]
    assert rows.extra == {}


def test_unknown_fields_are_preserved_and_learned(invoices: RecordReader[ClientInvoice]) -> None:
    body = array({}, {"new": {"a": 1.10}, "class": [1.0]}, {"new": None})
    first = invoices.rows(body)
    again = invoices.rows(body)
    for rows in (first, again):
        assert rows.extra == {
            1: {"new": {"a": Decimal("1.1")}, "class": [Decimal("1.0")]},
            2: {"new": None},
        }
        assert [type(r) for r in rows] == [ClientInvoice] * 3
        assert rows.records[0] == rows.records[1] == rows.records[2]
    assert invoices._fast(invoices._array, body) is not None, "the second answer decodes at once"


@pytest.mark.parametrize("name", ['say "x"', "a\\b", "nul\0", "line\n", "é ", ""])
def test_a_field_of_any_name_is_preserved(invoices: RecordReader[ClientInvoice], name: str) -> None:
    for _ in range(2):
        assert invoices.rows(array({name: 1}, {})).extra == {0: {name: 1}}


@pytest.mark.parametrize("number", ["1e200000", "-1e-200000", f"0.{'3' * 20_000}"])
def test_a_number_that_no_database_holds_is_preserved_as_text(
    invoices: RecordReader[ClientInvoice], number: str
) -> None:
    body = array({"new": 0}).replace(b'"new": 0', b'"new": ' + number.encode())
    assert invoices.rows(body).extra == {0: {"new": number}}


def test_field_names_beyond_the_limit_are_preserved_and_not_learned(
    invoices: RecordReader[ClientInvoice],
) -> None:
    rows = invoices.rows(array(*({f"new_{i}": i} for i in range(3 * MAX_LEARNED))))
    assert rows.extra == {i: {f"new_{i}": i} for i in range(3 * MAX_LEARNED)}
    assert len(invoices._learned) == MAX_LEARNED


@pytest.mark.parametrize(
    ("row", "key", "field", "code"),
    [
        ({"id_invoice": None}, None, "id_invoice", "missing_key"),
        ({"id_invoice": "012"}, None, "id_invoice", "bad_type"),
        ({"id_invoice": True}, None, "id_invoice", "bad_type"),
        ({"id_invoice": 1.5}, None, "id_invoice", "bad_type"),
        ({"total_due": None}, 1, "total_due", "missing_money"),
        ({"total_due": "12,50"}, 1, "total_due", "bad_type"),
        ({"total_due": "1.250"}, 1, "total_due", "bad_type"),
        ({"total_due": "1e3"}, 1, "total_due", "bad_type"),
        ({"total_due": ""}, 1, "total_due", "bad_type"),
        ({"total_due": "NaN"}, 1, "total_due", "bad_type"),
        ({"total_due": True}, 1, "total_due", "bad_type"),
        ({"total_due": []}, 1, "total_due", "bad_type"),
        (12, None, None, "not_an_object"),
        (None, None, None, "not_an_object"),
        ([GOOD], None, None, "not_an_object"),
    ],
    ids=str,
)
def test_only_the_row_without_a_usable_key_or_amount_is_rejected(
    invoices: RecordReader[ClientInvoice], row: Any, key: Any, field: str | None, code: str
) -> None:
    body = array({"id_invoice": 7}, row, {"id_invoice": 8})
    rows = invoices.rows(body)
    assert [r.id_invoice for r in rows] == [7, 8]
    [rejected] = rows.rejected
    assert (rejected.index, rejected.key, rejected.field, rejected.code) == (1, key, field, code)
    assert json.loads(rejected.raw) == (GOOD | row if isinstance(row, dict) else row)
    with pytest.raises(InvalidRecords, match=f"row 1: {field or 'row'} {code}"):
        rows.require_all()


@pytest.mark.parametrize("name", [n for n in GOOD if n != "id_invoice"])
def test_a_missing_total_rejects_the_row(invoices: RecordReader[ClientInvoice], name: str) -> None:
    body = json.dumps([{n: v for n, v in GOOD.items() if n != name}]).encode()
    [rejected] = invoices.rows(body).rejected
    assert (rejected.field, rejected.code) == (name, "missing_money")


def test_a_number_beyond_a_decimal_is_a_bad_type(invoices: RecordReader[ClientInvoice]) -> None:
    body = array({}).replace(b'"total_due": 0', b'"total_due": 1e99999999999999999999')
    [rejected] = invoices.rows(body).rejected
    assert rejected.code == "bad_type"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("id_client", "012"), ("sent", "oui"), ("po_number", ["a"]), ("status", 10**18)),
        *(("invoice_date", 20260331), ("sent_by", " 4")),
    ],
    ids=repr,
)
def test_a_mistyped_optional_field_loses_neither_row_nor_value(
    invoices: RecordReader[ClientInvoice], name: str, value: Any
) -> None:
    rows = invoices.rows(array({}, {name: value}))
    assert rows.rejected == []
    assert getattr(rows.records[1], name) is None
    assert rows.extra == {1: {name: value}}


COERCED = [
    *(("sent", 1.0, True), ("id_client", "-12", -12), ("total_due", "12.50", Decimal("12.50"))),
    *(("status", 3, "3"), ("id_invoice", "12", 12)),
]
"""A value of each type; test_field_values has all forms."""


@pytest.mark.parametrize(("name", "value", "read"), COERCED, ids=repr)
def test_a_mistyped_value_with_one_interpretation_is_converted(
    invoices: RecordReader[ClientInvoice], name: str, value: Any, read: Any
) -> None:
    rows = invoices.rows(array({}, {name: value}, {name: value}))
    assert rows.rejected == []
    assert [getattr(record, name) for record in rows.records[1:]] == [read, read]
    assert type(getattr(rows.records[1], name)) is type(read)
    assert rows.extra == {}
    assert (rows.coerced, rows.mistyped) == ({name: 2}, {})


def test_an_integer_has_at_most_the_digits_of_a_column() -> None:
    body = array({"id_client": 1}, {"id_client": 2})
    body = body.replace(b'"id_client": 1', b'"id_client": 9.99999999999999999E17')
    rows = RecordReader(INVOICES, ClientInvoice).rows(
        body.replace(b'"id_client": 2', b'"id_client": 1E18')
    )
    assert [record.id_client for record in rows] == [999999999999999999, None]
    assert rows.mistyped == {"id_client": 1}


@pytest.mark.parametrize("guid", ["", "a\0", "x" * 201, 1], ids=["empty", "nul", "long", "number"])
def test_a_guid_that_no_index_holds_is_a_bad_type(guid: object) -> None:
    reader = RecordReader(BY_NAME["list_employees"], EmployeeItem)
    [rejected] = reader.rows(json.dumps([{"guid_employee": guid}]).encode()).rejected
    found = (rejected.key, rejected.field, rejected.code)
    assert found == (None, "guid_employee", "bad_type")


def test_mistyped_fields_are_counted_by_name(invoices: RecordReader[ClientInvoice]) -> None:
    body = array({"sent": "oui"}, {"sent": "non", "id_client": [1], "new": 1}, {"sent": True})
    for _ in range(2):
        rows = invoices.rows(body)
        assert (rows.coerced, rows.mistyped) == ({}, {"sent": 2, "id_client": 1})


def test_a_text_that_resembles_a_quoted_amount_stays_text(
    invoices: RecordReader[ClientInvoice],
) -> None:
    rows = invoices.rows(array({"invoice_subject": '{"total_due": "12"}'}))
    assert rows.records[0].invoice_subject == '{"total_due": "12"}'
    assert rows.rejected == []


def test_an_optional_amount_may_be_absent_but_not_mistyped() -> None:
    reader = RecordReader(BY_NAME["list_consultants"], ConsultantItem)
    body = b'{"total_pages": 1, "data": [{"id": 1}, {"id": 2, "rate": 612.50}, {"id": 3, "rate": "6,5"}]}'
    page = reader.page(body, number=1, size=100)
    assert [c.rate for c in page] == [None, Decimal("612.50")]
    assert [(r.key, r.field, r.code) for r in page.rejected] == [(3, "rate", "bad_type")]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        *((each, "GET") for each in (b"", b" ", b"12", b'"[]"', b"{}", b"[] x", b"[1,]")),
        *((each, "GET") for each in (b"[", b'[{"id_invoice": 1', b'[{"id_invoice": 1}', b"NaN")),
        (b"\n<!DOCTYPE html>", "HTML"),
        (b"<html></html>", "HTML"),
        (b'[{"id_invoice": NaN}]', r"byte 16\)"),
        (b'[{"id_invoice": 1, "status": "\xff"}]', "no UTF-8"),
        ("[]".encode("utf-16"), "GET"),
        (b'{"error": "x"}', "Expected `array"),
    ],
    ids=repr,
)
def test_a_body_without_an_array_is_malformed_and_the_error_names_what_is_wrong(
    invoices: RecordReader[ClientInvoice], body: bytes, reason: str
) -> None:
    with pytest.raises(MalformedResponse, match=reason) as caught:
        invoices.rows(body)
    assert caught.value.retriable
    assert caught.value.__context__ is None, "the decoder's error holds pieces of the body"


def test_null_is_a_list_without_rows(
    invoices: RecordReader[ClientInvoice], contacts: RecordReader[ContactItem]
) -> None:
    assert not invoices.rows(b"null").records
    for body in (b'{"total_pages": 0}', b'{"total_pages": 2, "data": null}'):
        assert not contacts.page(body, number=3, size=100).records
        assert not contacts.page(body, number=3, size=100, find=lambda _: ([], [])).records


@given(st.integers(1, 400))
def test_a_truncated_body_is_always_malformed(cut: int) -> None:
    body = array({"id_invoice": 1}, {"id_invoice": 2}, {"id_invoice": 3}).replace(b" ", b"")
    with pytest.raises(MalformedResponse):
        RecordReader(INVOICES, ClientInvoice).rows(body[: -(cut % (len(body) - 1) + 1)])


@pytest.mark.parametrize(
    "body",
    [
        *(b"[]", b"{}", b"null", b'{"data": []}', b'{"total_pages": 1, "data": {}}'),
        *(b'{"total_pages": 2}', b'{"total_pages": 2, "data": null}'),
        *(b'{"total_pages": null, "data": []}', b'{"total_pages": "one", "data": []}'),
    ],
    ids=repr,
)
def test_a_body_without_the_envelope_is_malformed(
    contacts: RecordReader[ContactItem], body: bytes
) -> None:
    with pytest.raises(MalformedResponse):
        contacts.page(body, number=1, size=100)


def test_a_page_has_its_valid_rows_and_unknown_fields(contacts: RecordReader[ContactItem]) -> None:
    body = b'{"total_pages": 3, "total": 7, "data": [{"id": 1, "actif": true, "x": 1}, {}]}'
    for _ in range(2):
        page = contacts.page(body, number=2, size=2)
        assert (page.number, page.size, page.total_pages, page.body) == (2, 2, 3, body)
        assert page.records == [ContactItem(id=1, actif=True)]
        assert page.extra == {0: {"x": 1}}
        assert [r.code for r in page.rejected] == ["missing_key"]


@pytest.mark.parametrize("total", [b'"3"', b"3.0", b"3e0"])
def test_a_total_of_another_type_with_one_meaning_is_read(
    contacts: RecordReader[ContactItem], total: bytes
) -> None:
    body = b'{"total_pages": %b, "data": [{"id": 1}]}' % total
    page = contacts.page(body, number=1, size=2)
    assert (page.total_pages, page.records) == (3, [ContactItem(id=1)])


def test_a_byte_order_mark_is_ignored(invoices: RecordReader[ClientInvoice]) -> None:
    body = b"\xef\xbb\xbf" + array({}, {"new": 1})
    assert len(invoices.rows(body)) == len(invoices.rows(body)) == 2


def test_a_detail_has_unknown_fields_and_raises_for_invalid_ones() -> None:
    reader = RecordReader(BY_NAME["read_contact"], Contact)
    detail = reader.detail(b'{"id": "1", "domains": [2, 3], "active": "x", "new": 5}')
    assert (detail.record.id, detail.record.domains, detail.record.active) == (1, [2, 3], None)
    assert detail.extra == {"active": "x", "new": 5}
    assert (detail.coerced, detail.mistyped) == ({"id": 1}, {"active": 1})
    assert reader.detail(b'{"id": 2, "new": 5}').extra == {"new": 5}
    with pytest.raises(InvalidRecords, match="id missing_key"):
        reader.detail(b"{}")
    for body in (b"[]", b"", b"12", b'{"id": 1'):
        with pytest.raises(MalformedResponse):
            reader.detail(body)


@pytest.mark.parametrize(
    "body",
    [b"12", b'"12"', b'{"id": 12}', b'{"id_contact": "12"}', b'{"id": 12, "x": 1}', b" 12\n"],
)
def test_every_shape_of_a_created_id(body: bytes) -> None:
    found = read_created_id(BY_NAME["create_contact"], "id_contact", body)
    assert found == CreatedId(12)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"null", b"true", b"12.5", b'"x"', b'""', b"[12]", b"{}", b'{"id": null}', b'"0"'),
        *(b'{"id": true}', b'{"id": 0}', b'"' + b"9" * 5_000 + b'"'),
    ],
    ids=lambda body: repr(body)[:20],
)
def test_any_other_body_has_no_id(body: bytes) -> None:
    with pytest.raises(MalformedResponse):
        read_created_id(BY_NAME["create_contact"], "id_contact", body)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"12", b"{}", b"[]", b'{"guid_employee": "", "id_employee": 1, "is_standby": true}'),
        b'{"guid_employee": 5, "id_employee": 1, "is_standby": true}',
        b'{"id_employee": 1, "is_standby": true}',
        b'{"guid_employee": "00000000-0000-0000-0000-000000000000", "id_employee": 0}',
        b'{"guid_employee": "Zo\xc3\xa9 Girard", "id_employee": 1, "is_standby": true}',
    ],
)
def test_a_created_employee_without_a_guid_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedResponse) as caught:
        read_created_employee(BY_NAME["create_employee"], body)
    assert "Girard" not in str(caught.value)


@pytest.mark.parametrize(
    ("members", "number", "standby"),
    [
        ('"id_employee": 7, "is_standby": true, "new": 1', 7, True),
        ('"id_employee": "7", "is_standby": 1', 7, True),
        ('"id_employee": "007", "is_standby": "maybe"', None, None),
        ('"id_employee": null, "is_standby": false', None, False),
        ('"id_employee": 7.5, "is_standby": []', None, None),
        ('"id_employee": 7', 7, None),
        ('"is_standby": true', None, True),
    ],
)
def test_the_guid_of_a_created_employee_is_never_lost(
    members: str, number: int | None, standby: bool | None
) -> None:
    body = b'\xef\xbb\xbf{"guid_employee": "%s", %s}' % (GUID.encode(), members.encode())
    made = read_created_employee(BY_NAME["create_employee"], body)
    assert (made.guid_employee, made.id_employee, made.is_standby) == (GUID, number, standby)


@given(st.text(st.characters() | st.characters(categories=["Cs"]) | st.sampled_from('\\ud8"')))
def test_half_a_character_is_replaced_and_every_other_text_is_unchanged(text: str) -> None:
    body = json.dumps([{**GOOD, "invoice_subject": text}]).encode()
    [row] = RecordReader(INVOICES, ClientInvoice).rows(body).records
    # Python joins two halves that follow one another.
    assert row.invoice_subject == re.sub(
        "[\ud800-\udfff]", "\ufffd", json.loads(body)[0]["invoice_subject"]
    )


def test_a_page_and_a_detail_with_half_a_character_are_read() -> None:
    body = json.dumps({"id": 1, "first_name": "Zo\ud83d"}).encode()
    page = RecordReader(BY_NAME["list_contacts"], ContactItem).page(
        b'{"total_pages": 1, "data": [%b]}' % body, number=1, size=100
    )
    detail = RecordReader(BY_NAME["read_contact"], Contact).detail(body)
    assert page.records[0].first_name == detail.record.first_name == "Zo\ufffd"
    assert b"\\ud83d" not in page.body + detail.body
