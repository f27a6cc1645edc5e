"""In what a dropped contact and its record in the CRM disagree: told once, until it changes or is gone.

The service can't be told to change a record, so a difference is work for a person. The base, what
both sides last agreed on, says which of them has changed since.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, Table, select
from sqlalchemy.dialects.postgresql import insert

from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.outcome import Outcome
from bms_flows.onboarding.resources import body
from bms_flows.onboarding.sending.verify import READS_AT_ONCE
from bms_flows.runtime.concurrently import gather_bounded
from bms_flows.runtime.excel_csv import csv_file
from bms_warehouse.tables import contact_agreement, contact_difference

FILE = "differences.csv"
HEADER = ("_line", "id", "state", "field", "base", "ours", "theirs", "changed_by")
RESOURCE = "contact"
"""The resource whose differences are kept."""

Place = tuple[int, str]
"""A contact's id and a field."""


@dataclass(frozen=True)
class Compared:
    """A dropped row beside its record: fields that are the same, and (ours, theirs) of others."""

    id_contact: int
    same: Mapping[str, Any] = field(repr=False)
    other: Mapping[str, tuple[Any, Any]] = field(repr=False)

    def without(self, places: Collection[Place]) -> "Compared":
        """Return it without some places."""
        same = {n: each for n, each in self.same.items() if (self.id_contact, n) not in places}
        other = {n: each for n, each in self.other.items() if (self.id_contact, n) not in places}
        return replace(self, same=same, other=other)


@dataclass(frozen=True)
class Difference:
    """A field in which both sides disagree, or did (`gone`)."""

    base: Any = field(repr=False)
    ours: Any = field(repr=False)
    theirs: Any = field(repr=False)
    gone: bool = False

    @property
    def changed_by(self) -> Literal["source", "CRM", "both", ""]:
        """Who has left the base; empty where there is none, or nothing differs any more."""
        if self.base is None or self.gone:
            return ""
        if self.theirs == self.base:
            return "source"
        return "CRM" if self.ours == self.base else "both"


@dataclass(frozen=True)
class News:
    """What a drop brings: values agreed on, and differences that are new, changed or gone."""

    agreed: Mapping[Place, Any]
    differences: Mapping[Place, Difference]


def news(
    agreed: Mapping[Place, Any],
    standing: Mapping[Place, Difference],
    compared: Iterable[Compared],
) -> News:
    """Hold what was compared against what is known; fields that were not dropped stay. Pure."""
    newly: dict[Place, Any] = {}
    told: dict[Place, Difference] = {}
    for each in compared:
        for name, value in each.same.items():
            place = each.id_contact, name
            if place not in agreed or agreed[place] != value:
                newly[place] = value
            before = standing.get(place)
            if before is not None and not before.gone:
                told[place] = Difference(before.base, value, value, gone=True)
        for name, (ours, theirs) in each.other.items():
            place = each.id_contact, name
            now = Difference(agreed.get(place), ours, theirs)
            if standing.get(place) != now:
                told[place] = now
    return News(newly, told)


async def compare_rows(
    onboarding: OnboardingContext, sheet: Sheet, outcomes: Sequence[Outcome]
) -> list[Compared]:
    """Read the record of every row that has one, and compare them field by field."""
    if onboarding.resource.name != RESOURCE:
        return []
    values = {row.line: row.values for row in sheet.rows}

    async def one(outcome: Outcome) -> Compared | None:
        record = await onboarding.remote.read(outcome.guid or "")
        if record is None:
            return None
        given = body.build(onboarding.resource, values[outcome.line])
        found = body.compare(onboarding.resource, given, record)
        ours = {each.name: _kept(value) for each, value in body.sent(onboarding.resource, given)}
        return Compared(
            record.id,
            {name: ours[name] for name in found.equal},
            {each.name: (_kept(each.ours), _kept(each.theirs)) for each in found.different},
        )

    known = [outcome for outcome in outcomes if outcome.guid]
    read = await gather_bounded(one, known, at_once=READS_AT_ONCE)
    return [each for each in read if each is not None]


def tell(
    connection: Connection, drop_id: int, outcomes: Sequence[Outcome], compared: Sequence[Compared]
) -> bytes:
    """Keep what a drop brings, and return the CSV that tells it, in the caller's transaction.

    Repeating it tells the same: what a drop told is known by the drop's number. A drop that ends
    after a newer one, or once more, has nothing to say on places of which that one spoke.
    """
    lines = {int(each.guid): each.line for each in outcomes if each.guid}
    ids = sorted({each.id_contact for each in compared})
    newer = _spoken_of(connection, ids, after=drop_id)
    current = [each.without(newer) for each in compared]
    found = news(_agreed(connection, ids), _standing(connection, ids), current)
    now = datetime.now(UTC)
    _upsert(
        connection,
        contact_agreement,
        [
            {"id_contact": number, "field": name, "value": value, "agreed_at": now}
            | {"drop_id": drop_id}
            for (number, name), value in found.agreed.items()
        ],
    )
    _upsert(
        connection,
        contact_difference,
        [
            {"id_contact": number, "field": name, "base": each.base, "ours": each.ours}
            | {"theirs": each.theirs, "drop_id": drop_id, "since": now}
            | {"resolved_at": now if each.gone else None}
            for (number, name), each in found.differences.items()
        ],
    )
    told = connection.execute(
        select(contact_difference)
        .where(contact_difference.c.drop_id == drop_id, contact_difference.c.id_contact.in_(ids))
        .order_by(contact_difference.c.id_contact, contact_difference.c.field)
    )
    return csv_file(HEADER, (_told(row, lines) for row in told))


def _told(row: Row[*tuple[Any, ...]], lines: Mapping[int, int]) -> Sequence[object]:
    each = _difference(row)
    return (
        lines.get(row.id_contact),
        row.id_contact,
        "gone" if each.gone else "stands",
        row.field,
        *map(_shown, (each.base, each.ours, each.theirs)),
        each.changed_by,
    )


def _spoken_of(connection: Connection, ids: Sequence[int], *, after: int) -> set[Place]:
    """Return the places on which drops after one have agreed with the CRM, or differed from it."""
    return {
        (row.id_contact, row.field)
        for table in (contact_agreement, contact_difference)
        for row in connection.execute(
            select(table.c.id_contact, table.c.field).where(
                table.c.id_contact.in_(ids), table.c.drop_id > after
            )
        )
    }


def _agreed(connection: Connection, ids: Sequence[int]) -> dict[Place, Any]:
    found = connection.execute(
        select(contact_agreement).where(contact_agreement.c.id_contact.in_(ids))
    )
    return {(row.id_contact, row.field): row.value for row in found}


def _standing(connection: Connection, ids: Sequence[int]) -> dict[Place, Difference]:
    found = connection.execute(
        select(contact_difference).where(contact_difference.c.id_contact.in_(ids))
    )
    return {(row.id_contact, row.field): _difference(row) for row in found}


def _difference(row: Row[*tuple[Any, ...]]) -> Difference:
    return Difference(row.base, row.ours, row.theirs, row.resolved_at is not None)


def _upsert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    statement = insert(table)
    changed = {name: statement.excluded[name] for name in rows[0]}
    connection.execute(
        statement.on_conflict_do_update(index_elements=["id_contact", "field"], set_=changed), rows
    )


def _kept(value: Any) -> Any:
    """Return a value as JSON keeps it."""
    return list(value) if isinstance(value, tuple) else value


def _shown(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "oui" if value else "non"
        case list():
            return "|".join(map(str, value))
    return str(value)
