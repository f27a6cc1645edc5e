"""Rows of a response that are not decoded, because an earlier load decoded the same rows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from sqlalchemy import Connection

from bms_flows.invoices.decode import SCHEMA, KnownDay
from bms_flows.invoices.dedup import IdArray
from bms_flows.invoices.row_counter import day_facts
from bms_flows.invoices.totals import DayFacts
from bms_flows.runtime.digests import content_digest
from bms_flows.runtime.windows import Window
from bms_warehouse.queries.invoices import fields_of, stored_rows

ROW = np.dtype([("id", ">i8"), ("digest", "V16")])
"""A row of `stored_rows`, and of the digests of rows as received."""
Packed: TypeAlias = np.ndarray[Any, np.dtype[np.void]]

_STORED = [*SCHEMA, pa.field("_day", pa.date32())]
_FIELDS = [f'"{each.name}"' + "::text" * pa.types.is_string(each.type) for each in _STORED]


@dataclass(frozen=True)
class KnownRows:
    """Rows of a window's response that the warehouse has, and what they add to the load."""

    facts: Mapping[date, DayFacts] = field(default_factory=dict)
    stored: Mapping[date, Packed] = field(default_factory=dict)
    """Ids and row hashes by day."""
    others: Mapping[date, Mapping[int, bytes]] = field(default_factory=dict)
    """Row hashes of the other stored rows by day."""

    def ids_of(self, window: Window) -> IdArray:
        """Return the ids of a window's rows."""
        listed = [self.stored[day]["id"] for day in window if day in self.stored]
        return np.concatenate([np.array([], np.int64), *listed])

    def others_of(self, window: Window) -> dict[int, bytes]:
        """Return the row hashes of a window's other stored rows."""
        return {key: hash_ for day in window for key, hash_ in self.others.get(day, {}).items()}

    def with_decoded(self, facts: dict[date, DayFacts]) -> dict[date, DayFacts]:
        """Return what these and the decoded rows of the window add to the load."""
        both = {day: self.facts[day].plus(facts[day]) for day in self.facts.keys() & facts.keys()}
        return {**self.facts, **facts, **both}


def known_rows(
    connection: Connection,
    id_entity: int,
    window: Window,
    known: Mapping[date, KnownDay],
    without: Collection[date] = (),
) -> KnownRows | None:
    """Return the rows that are not decoded, None if the warehouse has other rows of the `known` days.

    The stored rows of the other days, without days left out, are in `others`.
    """
    stored = stored_rows(connection, id_entity, window.start, window.end)
    unknown = stored.keys() - known.keys() - {*without}
    others: dict[date, dict[int, bytes]] = {
        day: dict(np.frombuffer(stored[day], ROW).tolist()) for day in unknown
    }
    rows: dict[date, Packed] = {}
    facts: dict[date, DayFacts] = {}
    gone: list[int] = []
    for day, each in known.items():
        rows[day] = of_day = by_id(stored.get(day, b""))
        if content_digest(of_day.tobytes()).hex() != each.facts.stored:
            return None
        facts[day] = each.facts
        if len(each.gone):
            listed = np.isin(of_day["id"], each.gone)
            others[day], rows[day] = dict(of_day[listed].tolist()), of_day[~listed]
            gone += others[day]
    if gone:
        for day, earlier in day_facts(_earlier_rows(connection, id_entity, gone)).items():
            left = facts[day].less(earlier)
            if left is None:
                return None
            facts[day] = left
    return KnownRows(facts, rows, others)


def by_id(packed: bytes) -> Packed:
    """Return packed rows in the order of their ids."""
    rows = np.frombuffer(packed, ROW)
    return rows[np.argsort(rows["id"])]


def packed_rows(rows: pa.Table) -> Packed:
    """Return the ids and row hashes of decoded rows."""
    packed = np.empty(rows.num_rows, ROW)
    packed["id"] = rows.column("id_invoice").to_numpy()
    packed["digest"] = np.frombuffer(b"".join(rows.column("_row_hash").to_pylist()), "V16")
    return packed


def _earlier_rows(connection: Connection, id_entity: int, ids: list[int]) -> pa.Table:
    """Return stored rows as columns, for `day_facts`."""
    columns = zip(*fields_of(connection, id_entity, ids, _FIELDS), strict=True)
    arrays = [pa.array(each, field.type) for each, field in zip(columns, _STORED, strict=True)]
    rows = pa.table(arrays, names=[each.name for each in _STORED])
    return rows.append_column("_counted_day", rows.column("_day"))
