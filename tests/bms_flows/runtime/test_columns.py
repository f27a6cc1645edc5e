"""Digests of rows."""

from itertools import product

import pyarrow as pa

from bms_flows.runtime.columns import row_hashes


def test_rows_with_different_texts_have_different_digests() -> None:
    """Nulls, empty texts and texts equal to a marker must not be mistaken for each other."""
    rows = list(product((None, "", "N"), repeat=3))
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(3)]
    digests = row_hashes(pa.table(columns, names=["a", "b", "c"]), ["a", "b", "c"])
    assert len(set(digests.to_pylist())) == len(rows)
