"""Profile of an invoice load: what its rows show, and what one query of changed rows shows."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date

from bms_flows.invoices.load import Loader
from bms_flows.invoices.row_counter import OPTIONAL
from bms_flows.invoices.transform import Transform
from bms_flows.runtime.profile import Part, Profile, Share
from bms_flows.runtime.quarantine import InvalidRow
from bms_warehouse.queries import changes
from bms_warehouse.queries.invoices import (
    days_of,
    in_other_entities,
    last_read_before_acceptance,
)
from bms_warehouse.tables import client_invoice

SETTLED = (
    *("reference_number", "invoice_type", "id_client", "currency"),
    *("total_excl_vat", "total_vat", "total_incl_vat"),
)
"""Fields that rarely change once an invoice exists."""
NEWEST_DAYS = 10


def load_profile(
    transform: Transform,
    loader: Loader,
    published: Mapping[date, int],
    not_accepted: Sequence[InvalidRow] = (),
) -> Profile:
    """Return the profile of a completely merged load; one query counts the changed rows.

    `published` has the invoices of the published days, `not_accepted` the invalid rows that no
    published load has quarantined with the same content.
    """
    counter = transform.rows
    profile = Profile(levels=counter.levels, new_days=frozenset(counter.new_days))
    profile.volatile = counter.volatile
    days = transform.complete_days
    profile.days = {day: days[day].invoices for day in sorted(days)[-NEWEST_DAYS:]}
    _add_read_rows(profile, transform, not_accepted)
    _add_missing(profile, transform, published)
    stored = sum(each.stored for each in transform.windows)
    _add_changes(profile, transform, stored, loader)
    if loader.changed and counter.unknown:
        found = changes.unknown_by_load(loader.connection, client_invoice, loader.stamp)
        profile.unknown = {name: Share(rows, stored) for name, rows in found.items()}
    new_days = counter.new_days
    for measure, of in counter.new.items():
        for name in OPTIONAL:
            profile.add(f"{name}.{measure}", counter.empty[name, measure], of, new_days)
    largest = max(counter.clients.values(), default=0)
    profile.add("client", largest, counter.clients.total(), new_days)
    profile.add("negative", counter.negative, counter.new.total(), new_days)
    foreign = in_other_entities(loader.connection, counter.sample, transform.id_entity)
    profile.add("foreign", foreign, len(counter.sample), days)
    return profile


def _add_read_rows(
    profile: Profile, transform: Transform, not_accepted: Sequence[InvalidRow]
) -> None:
    read, counter = transform.counts.rows_read, transform.rows
    duplicates = [row for row in not_accepted if row.code == "duplicate_id"]
    profile.add("amounts_differ", len(transform.amounts_differ), read, transform.amounts_differ)
    for name, rows in (("duplicates", duplicates), ("quarantined", not_accepted)):
        profile.add(name, len(rows), read, {day for row in rows for day in row.days})
    profile.parts["elsewhere"] = [
        each.part(each.outside, max(each.outside, each.stored), " in the response for")
        for each in transform.windows
        if each.outside
    ]
    profile.parts["outside"] = counter.elsewhere
    outside = sum(part.share.found for part in counter.elsewhere)
    profile.add("outside", outside, counter.rows, _days(counter.elsewhere))
    profile.parts["repeated"] = counter.repeated
    repeated = sum((part.share for part in counter.repeated), Share())
    profile.add("repeated", *repeated, _days(counter.repeated))


def _add_missing(profile: Profile, transform: Transform, published: Mapping[date, int]) -> None:
    """Add the stored invoices that the responses lack, by response and by day."""
    missing = {*transform.missing}
    windows = [
        each.part(len(each.missing & missing), each.stored, " in") for each in transform.windows
    ]
    losing = [part for part in windows if part.share.found]
    found = days_of(transform.committed, transform.id_entity, missing) if missing else {}
    profile.parts["missing"] = [
        *losing,
        *(
            Part(Share(count, max(count, published.get(day, 0))), frozenset([day]), f" on {day}")
            for day, count in sorted(found.items())
        ),
    ]
    total = sum((part.share for part in windows), Share())
    if total.of:
        where = f" in {len(losing)} responses" if len(losing) > 1 else ""
        profile.shares["missing"] = Part(total, _days(losing), where)


def _add_changes(profile: Profile, transform: Transform, stored: int, loader: Loader) -> None:
    """Add what happened to stored rows that were read again.

    An accepted change of a field also covers older days, until a load has read them again.
    """
    found, counter = _changes(loader) if loader.changed else {}, transform.rows
    fields = [f"{name}.changed" for name in SETTLED if f"{name}.changed" in found]
    days = {day for name in fields for day in found[name] if day}
    covered = (
        last_read_before_acceptance(transform.committed, transform.id_entity, days) if days else {}
    )
    for name in fields:
        found[name] = {day: n for day, n in found[name].items() if day not in covered.get(name, ())}

    def add(measure: str, of: int, more: Collection[date] = ()) -> None:
        days = found.get(measure, {})
        profile.add(measure, sum(days.values()), of, {*(day for day in days if day), *more})

    for name in OPTIONAL:
        filled = counter.rows - counter.counts.missing[name]
        lost = sum(found.get(f"{name}.lost", {}).values())
        if mistyped := counter.mistyped[name]:
            days = {day for day in found.get(f"{name}.lost", {}) if day} | counter.new_days
            profile.add(f"{name}.mistyped", mistyped, filled + max(lost, mistyped), days)
        if 2 * mistyped <= lost:
            add(f"{name}.lost", filled + lost if stored else 0)
    for name in SETTLED:
        add(f"{name}.changed", stored)
    add("canceled", stored)
    add("paid", counter.unpaid + sum(found.get("paid", {}).values()))


def _changes(loader: Loader) -> dict[str, dict[date | None, int]]:
    """Return the changed rows by measure and day: `a` is the row after the load, `b` before."""
    values = {name: changes.value(client_invoice.columns[name]) for name in OPTIONAL}
    conditions = {
        **{
            f"{name}.lost": f"{each.format('a')} is null and {each.format('b')} is not null"
            for name, each in values.items()
        },
        **{f"{name}.changed": f'a."{name}" <> b."{name}"' for name in SETTLED},
        "canceled": "a.canceled and not coalesce(b.canceled, false)",
        "paid": "a.total_due = 0 and b.total_due <> 0",
    }
    return changes.by_day(loader.connection, client_invoice, conditions, loader.stamp)


def _days(parts: Sequence[Part]) -> frozenset[date]:
    return frozenset().union(*(part.days for part in parts))
