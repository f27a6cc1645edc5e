"""Differences between dropped contacts and their records in the CRM, each reported once.

The service has no update operation, so HR users resolve differences. The base, the last value in which
both sides agreed, shows which side changed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, Table, select

from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.report import RowOutcome
from bms_flows.onboarding.resources import body
from bms_flows.onboarding.resources.service_remote import ServiceRemote
from bms_flows.onboarding.sending.verify import MAX_CONCURRENT_READS
from bms_flows.runtime.concurrently import gather_bounded
from bms_flows.runtime.excel_csv import csv_file
from bms_flows.runtime.settings import Language
from bms_flows.texts import DIFFERENCE
from bms_warehouse.database import upsert
from bms_warehouse.tables import contact_agreement, contact_difference

FILE = "differences.csv"
HEADER = ("_line", "id", "state", "field", "base", "ours", "theirs", "changed_by")
RESOURCE = "contact"
"""The resource whose differences are stored."""

FieldKey = tuple[int, str]
"""A contact's id and the name of a field."""


@dataclass(frozen=True)
class ComparedContact:
    """A dropped row compared with its record: equal fields, and (ours, theirs) of different fields."""

    id_contact: int
    same: Mapping[str, Any] = field(repr=False)
    other: Mapping[str, tuple[Any, Any]] = field(repr=False)

    def without(self, keys: Collection[FieldKey]) -> "ComparedContact":
        """Return the comparison without some fields."""
        same = {n: each for n, each in self.same.items() if (self.id_contact, n) not in keys}
        other = {n: each for n, each in self.other.items() if (self.id_contact, n) not in keys}
        return replace(self, same=same, other=other)


@dataclass(frozen=True)
class ContactDifference:
    """A field in which both sides differ, or differed before (`resolved`)."""

    base: Any = field(repr=False)
    ours: Any = field(repr=False)
    theirs: Any = field(repr=False)
    resolved: bool = False

    @property
    def changed_by(self) -> Literal["source", "CRM", "both", ""]:
        """The side that changed; empty without a base or when the difference is resolved."""
        if self.base is None or self.resolved:
            return ""
        if self.theirs == self.base:
            return "source"
        return "CRM" if self.ours == self.base else "both"


def detect_changes(
    agreed: Mapping[FieldKey, Any],
    current: Mapping[FieldKey, ContactDifference],
    compared: Iterable[ComparedContact],
) -> tuple[Mapping[FieldKey, Any], Mapping[FieldKey, ContactDifference]]:
    """Return new agreed values, and new, changed or resolved differences; ignore fields not dropped. Pure."""
    newly_agreed: dict[FieldKey, Any] = {}
    changed: dict[FieldKey, ContactDifference] = {}
    for each in compared:
        for name, value in each.same.items():
            key = each.id_contact, name
            if key not in agreed or agreed[key] != value:
                newly_agreed[key] = value
            before = current.get(key)
            if before is not None and not before.resolved:
                changed[key] = ContactDifference(before.base, value, value, resolved=True)
        for name, (ours, theirs) in each.other.items():
            key = each.id_contact, name
            now = ContactDifference(agreed.get(key), ours, theirs)
            if current.get(key) != now:
                changed[key] = now
    return newly_agreed, changed


async def compare_rows(
    remote: ServiceRemote, sheet: Sheet, outcomes: Sequence[RowOutcome]
) -> list[ComparedContact]:
    """Read the record of each row that has one, and compare them field by field."""
    if remote.resource.name != RESOURCE:
        return []
    values = {row.line: row.values for row in sheet.rows}

    async def compare_row(outcome: RowOutcome) -> ComparedContact | None:
        record = await remote.read_permitted(outcome.guid or "")
        if record is None:
            return None
        given = body.build(remote.resource, values[outcome.line])
        found = body.compare(remote.resource, given, record)
        ours = {each.name: _json_value(value) for each, value in body.sent(remote.resource, given)}
        return ComparedContact(
            record.id,
            {name: ours[name] for name in found.equal},
            {
                each.name: (_json_value(each.ours), _json_value(each.theirs))
                for each in found.different
            },
        )

    known = [outcome for outcome in outcomes if outcome.guid]
    read = await gather_bounded(compare_row, known, at_once=MAX_CONCURRENT_READS)
    return [each for each in read if each is not None]


def save_differences(
    connection: Connection,
    drop_id: int,
    outcomes: Sequence[RowOutcome],
    compared: Sequence[ComparedContact],
    language: Language,
) -> bytes:
    """Save the changes of a drop in the caller's transaction; return them as CSV in `language`.

    Idempotent: differences are stored with the drop's number. A drop ignores fields that a newer drop
    has already compared.
    """
    lines = {int(each.guid): each.line for each in outcomes if each.guid}
    ids = sorted({each.id_contact for each in compared})
    newer = _compared_fields(connection, ids, after=drop_id)
    current = [each.without(newer) for each in compared]
    known = {key: row.value for key, row in _stored(connection, contact_agreement, ids).items()}
    stored = _stored(connection, contact_difference, ids)
    before = {key: _difference(row) for key, row in stored.items()}
    agreed, differences = detect_changes(known, before, current)
    now = datetime.now(UTC)
    upsert(
        connection,
        contact_agreement,
        [
            {"id_contact": number, "field": name, "value": value, "agreed_at": now}
            | {"drop_id": drop_id}
            for (number, name), value in agreed.items()
        ],
    )
    upsert(
        connection,
        contact_difference,
        [
            {"id_contact": number, "field": name, "base": each.base, "ours": each.ours}
            | {"theirs": each.theirs, "drop_id": drop_id, "since": now}
            | {"resolved_at": now if each.resolved else None}
            for (number, name), each in differences.items()
        ],
    )
    rows = connection.execute(
        select(contact_difference)
        .where(contact_difference.c.drop_id == drop_id, contact_difference.c.id_contact.in_(ids))
        .order_by(contact_difference.c.id_contact, contact_difference.c.field)
    )
    return csv_file(HEADER, (_csv_row(row, lines, language) for row in rows))


def _csv_row(
    row: Row[*tuple[Any, ...]], lines: Mapping[int, int], language: Language
) -> Sequence[object]:
    each = _difference(row)
    return (
        lines.get(row.id_contact),
        row.id_contact,
        DIFFERENCE["resolved" if each.resolved else "current"][language],
        row.field,
        *(each.base, each.ours, each.theirs),
        DIFFERENCE[each.changed_by][language] if each.changed_by else "",
    )


def _compared_fields(connection: Connection, ids: Sequence[int], *, after: int) -> set[FieldKey]:
    """Return the fields that drops after one have compared with the CRM."""
    return {
        key
        for table in (contact_agreement, contact_difference)
        for key, row in _stored(connection, table, ids).items()
        if row.drop_id > after
    }


def _stored(
    connection: Connection, table: Table, ids: Sequence[int]
) -> dict[FieldKey, Row[*tuple[Any, ...]]]:
    found = connection.execute(select(table).where(table.c.id_contact.in_(ids)))
    return {(row.id_contact, row.field): row for row in found}


def _difference(row: Row[*tuple[Any, ...]]) -> ContactDifference:
    return ContactDifference(row.base, row.ours, row.theirs, row.resolved_at is not None)


def _json_value(value: Any) -> Any:
    """Return a value as JSON stores it."""
    return list(value) if isinstance(value, tuple) else value
