"""Typed columns of records, and digests of rows."""

from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa

from bms.dates import parse_datetime
from bms.records import ClientInvoice
from bms_flows.runtime.columns import InvalidCell, row_hashes, typed_records
from bms_warehouse.tables import client_invoice


def test_rows_with_different_texts_have_different_digests() -> None:
    """Nulls, empty texts and texts equal to a marker must not be mistaken for each other."""
    rows = list(product((None, "", "N"), repeat=3))
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(3)]
    digests = row_hashes(pa.table(columns, names=["a", "b", "c"]), ["a", "b", "c"])
    assert len(set(digests.to_pylist())) == len(rows)


ZERO: dict[str, Any] = dict.fromkeys(["total_excl_vat", "total_vat", "total_incl_vat"], Decimal(0))


def test_a_tiny_amount_is_an_invalid_cell() -> None:
    records = [
        ClientInvoice(id_invoice=key, total_due=Decimal(due), **ZERO)
        for key, due in enumerate(["1.5", "1E-99999999"])
    ]
    columns = [client_invoice.columns["id_invoice"], client_invoice.columns["total_due"]]
    framed = typed_records(records, columns, "Europe/Paris")
    assert framed.rows.column("total_due").to_pylist() == [Decimal("1.5")]
    assert framed.bad == [InvalidCell(1, "total_due", "bad_amount")]


def test_a_time_without_zone_is_the_same_alone_and_beside_others() -> None:
    texts = [f"{year}-{day}T02:30:00" for year in (1999, 2037, 2099) for day in ("01-31", "07-31")]
    records = [ClientInvoice(id_invoice=0, total_due=Decimal(0), sent_on=t, **ZERO) for t in texts]
    framed = typed_records(records, [client_invoice.columns["sent_on"]], "Europe/Paris")
    expected = [parse_datetime(text, "Europe/Paris") for text in texts]
    assert framed.rows.column("sent_on").to_pylist() == expected
