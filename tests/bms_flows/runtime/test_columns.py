"""Typed columns of records, and digests of rows."""

from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa

from bms.records import ClientInvoice
from bms_flows.runtime.columns import InvalidCell, row_hashes, typed_records
from bms_warehouse.tables import client_invoice


def test_rows_with_different_texts_have_different_digests() -> None:
    """Nulls, empty texts and texts equal to a marker must not be mistaken for each other."""
    rows = list(product((None, "", "N"), repeat=3))
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(3)]
    digests = row_hashes(pa.table(columns, names=["a", "b", "c"]), ["a", "b", "c"])
    assert len(set(digests.to_pylist())) == len(rows)


def test_a_tiny_amount_is_an_invalid_cell() -> None:
    zero: dict[str, Any] = dict.fromkeys(
        ["total_excl_vat", "total_vat", "total_incl_vat"], Decimal(0)
    )
    records = [
        ClientInvoice(id_invoice=key, total_due=Decimal(due), **zero)
        for key, due in enumerate(["1.5", "1E-99999999"])
    ]
    columns = [client_invoice.columns["id_invoice"], client_invoice.columns["total_due"]]
    framed = typed_records(records, columns, "Europe/Paris")
    assert framed.rows.column("total_due").to_pylist() == [Decimal("1.5")]
    assert framed.bad == [InvalidCell(1, "total_due", "bad_amount")]
