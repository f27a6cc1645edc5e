"""Both decoders, into columns and record by record, give the same rows."""

import json
import random
from datetime import date
from io import BytesIO
from typing import Any

import pytest
from pyarrow import csv
from sqlalchemy import Engine

from bms.errors import MalformedResponse
from bms_flows.invoices.decode import ColumnarResponse, Response, ResponseReader, read_columns
from bms_flows.invoices.dedup import DedupIndex
from bms_flows.invoices.rows import Reading
from bms_flows.invoices.transform import Transform
from bms_flows.runtime.columns import typed_columns, typed_records
from bms_flows.runtime.windows import Window
from bms_warehouse.database import clock
from bms_warehouse.tables import CLIENT_INVOICE_FIELDS, client_invoice

WIRE = [client_invoice.columns[name] for name in CLIENT_INVOICE_FIELDS]
ZONE = "Europe/Paris"
DAY = date(2026, 3, 2)
NUMBER = ("id_client", "id_account_manager", "created_by", "canceled_by", "id_credit", "sent_by")
TEXT = ("reference_number", "client_name", "invoice_subject", "currency", "status", "status_name")
MOMENT = ("created_on", "canceled_on", "sent_on")
MONEY = ("total_excl_vat", "total_vat", "total_incl_vat", "total_due")


def invoice(number: int = 1, **given: Any) -> dict[str, Any]:
    return {"id_invoice": number, "invoice_date": f"{DAY}", **dict.fromkeys(MONEY, 1), **given}


def body(*rows: object) -> bytes:
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()


def any_invoice(chance: random.Random, number: int) -> str:
    """An invoice as a service may write it: members absent or null, numbers in every notation."""

    def maybe(value: object) -> object:
        return chance.choice([value, value, None])

    amounts = ["0", "-0.0", "12.5", "1e2", "1.50E+1", "-3.141592653", "99999999999999999999.99"]
    texts = ["", "Énergie 💡", 'a "quoted", {"x":1},{"y":2} text', "back\\slash\nline", "\t"]
    moments = ["2026-03-02T09:50:37", "2026-03-02 09:50:37.123", "2026-10-25T02:30:00"]
    zoned = [f"{moment}{zone}" for moment in moments for zone in ("Z", "+02:00", "-11:30")]
    written = [f'"id_invoice":{number}']
    written += [f'"{name}":{chance.choice(amounts)}' for name in MONEY]
    others: dict[str, object] = {
        **{name: maybe(chance.randrange(-(2**63), 2**63)) for name in NUMBER},
        **{name: maybe(chance.choice(texts)) for name in TEXT},
        **{name: maybe(chance.choice(chance.choice([moments, zoned]))) for name in MOMENT},
        **{name: maybe(chance.choice([True, False])) for name in ("canceled", "sent")},
        "invoice_date": maybe(f"{DAY}"),
    }
    kept = [name for name in others if chance.random() < 0.9]
    written += [f'"{name}":{json.dumps(others[name])}' for name in kept]
    chance.shuffle(written)
    return "{" + ",".join(written) + "}"


@pytest.mark.parametrize("seed", range(20))
def test_both_ways_give_the_same_rows(seed: int) -> None:
    chance = random.Random(seed)
    rows = ",".join(any_invoice(chance, number) for number in range(200))
    response = f"[{rows}]\n".encode()
    fast = read_columns(response)
    assert fast is not None
    records = ResponseReader().records(response)
    assert not records.rejected
    slow = typed_records(records.records, WIRE, ZONE, {"id_entity": 1})
    assert not slow.bad
    ready = typed_columns(fast, WIRE, ZONE, {"id_entity": 1})
    assert ready is not None
    assert ready.equals(slow.rows)


ODD: dict[str, bytes] = {
    "nothing": body(),
    "a null among the rows": body(invoice(1), None, invoice(2)),
    "a null first": body(None, invoice(2)),
    "a number among the rows": body(invoice(1), 7),
    "an amount as text": body(invoice(total_due="12.5")),
    "an amount as text, spaced": body(invoice()).replace(b'"total_due":1', b'"total_due" : "1"'),
    "an amount with too many digits": body(invoice()).replace(b'due":1', b'due":1.0000000001'),
    "an amount that is null": body(invoice(total_vat=None)),
    "no amount": body({"id_invoice": 1}),
    "no key": body({**invoice(), "id_invoice": None}),
    "a key as text": body(invoice(id_invoice="1")),
    "a key too large": body(invoice(2**70)),
    "a number with decimals": body(invoice(id_client=12.0)),
    "an unknown field": body(invoice(discount=1)),
    "a number where text belongs": body(invoice(client_name=12)),
    "an object where text belongs": body(invoice(client_name={"name": "x"})),
    "a member twice": b'[{"id_invoice":1,"id_invoice":2}]',
    "half a pair of surrogates": body(invoice()).replace(b"2026", b"\\ud800"),
    "no UTF-8": body(invoice(client_name="x")).replace(b'"x"', b'"\xff"'),
    "rows over several lines": json.dumps([invoice()], indent=1).encode(),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_out_of_the_ordinary_is_read_record_by_record(odd: str) -> None:
    assert read_columns(ODD[odd]) is None


@pytest.mark.parametrize("cut", [b"", b"[", b'[{"id_invoice":1', b'{"error":"x"}'])
def test_an_answer_that_is_no_array_is_malformed(cut: bytes) -> None:
    with pytest.raises(MalformedResponse):
        ResponseReader().read(cut)


@pytest.fixture
def transform(warehouse: Engine) -> Any:
    """A transform that compares with an empty warehouse."""
    with warehouse.connect() as connection:
        yield Transform(connection, Reading(1, ZONE, "invoice_date"), clock(connection))


def column(transform: Transform, response: Response, name: str) -> list[Any]:
    """Transform a response; return a column of its rows, all of which are new."""
    [rows] = transform.add([(Window(DAY, DAY), response)])
    named = csv.ReadOptions(column_names=rows.columns)
    values: list[Any] = csv.read_csv(BytesIO(rows.csv), named).column(name).to_pylist()
    return values


@pytest.mark.parametrize(
    ("second", "code"),
    [
        (invoice(2, created_on="2026-02-30T00:00:00"), "bad_datetime"),
        (invoice(2, client_name="a\0b"), "bad_text"),
        (invoice(1), "duplicate_id"),
    ],
)
def test_a_bad_row_among_columns_is_quarantined_alone(
    transform: Transform, second: dict[str, Any], code: str
) -> None:
    response = ResponseReader().read(body(invoice(1), second, invoice(3)))
    assert isinstance(response, ColumnarResponse)
    assert column(transform, response, "id_invoice") == [1, 3]
    assert [bad.code for bad in transform.invalid_rows] == [code]
    assert (transform.counts.rows_read, transform.counts.quarantined) == (3, 1)


def test_a_key_too_large_is_quarantined_alone(transform: Transform) -> None:
    response = ResponseReader().read(body(invoice(1), invoice(2**63)))
    assert column(transform, response, "id_invoice") == [1]
    assert [bad.code for bad in transform.invalid_rows] == ["bad_integer"]


def test_columns_and_records_have_the_same_digests(transform: Transform) -> None:
    plain = ResponseReader().read(body(invoice(1, client_name="x")))
    odd = ResponseReader().read(json.dumps([invoice(1, client_name="x")], indent=1).encode())
    assert isinstance(plain, ColumnarResponse)
    assert not isinstance(odd, ColumnarResponse)
    digests = []
    for response in (plain, odd):
        transform.index = DedupIndex()
        digests += column(transform, response, "_row_hash")
    assert digests[0] == digests[1]
