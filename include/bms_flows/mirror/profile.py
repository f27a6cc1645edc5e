"""Profile of a mirror run: one query compares the staged rows with the mirror."""

from typing import Final

from sqlalchemy import Connection

from bms_flows.mirror.resource import MirroredResource
from bms_flows.runtime.checks import NEW_EMPTY
from bms_flows.runtime.profile import Profile, Share
from bms_warehouse.queries import changes, drops

RECENT, OLD = NEW_EMPTY[1:]
REMOVED: Final = "removed"
"""Measure of rows marked as missing, which `accept_gone` always accepts."""
RENAMED: Final = "last_name.changed"
"""Measure of rows that became other persons, as those of another tenant or with ids counted from 1 again."""
KNOWN = "b._version is not null"
UNKNOWN = "b._version is null"


def mirror_profile(
    connection: Connection,
    resource: MirroredResource,
    id_entity: int | None,
    *,
    current: int,
    removed: int,
    quarantined: int,
    rows_read: int,
    volatile: frozenset[str],
) -> Profile:
    """Return the profile of a staged run; `current` rows were in the mirror before it.

    Fields fill over time, so the rows of the first run are another state than later new rows.
    """
    values = {each.name: changes.value(each) for each in resource.read.values() if each.nullable}
    only_read = {*resource.only_read}
    conditions = {"new": UNKNOWN, "new read": f"{UNKNOWN} and a._detailed"}
    undone = drops.UNDONE.format(resource=resource.name)
    by_mistake = f'a."{resource.key}"::text in ({undone})'
    conditions["deleted"] = f"{KNOWN} and a.deleted and not b.deleted and not {by_mistake}"
    for name in resource.flags:
        conditions[f"{name}.flag"] = f'{KNOWN} and a."{name}" <> b."{name}"'
    if "last_name" in values:
        conditions[RENAMED] = f"{KNOWN} and a.last_name <> b.last_name"
    for name, value in values.items():
        empty, filled = f"{value.format('a')} is null", f"{value.format('b')} is not null"
        conditions[f"{name}.lost"] = f"{empty} and {filled}"
        read = " and a._detailed" if name in only_read else ""
        conditions[f"{name}.empty"] = f"{UNKNOWN}{read} and {empty}"
    found = changes.staged(connection, resource.table, conditions)
    profile = Profile()
    profile.add("invalid", quarantined, rows_read)
    profile.add(REMOVED, removed, current)
    profile.add("deleted", found["deleted"], current)
    for name in resource.flags:
        profile.add(f"{name}.flag", found[f"{name}.flag"], current)
    if 2 * found.get(RENAMED, 0) > current:  # users correct many names at once
        profile.add(RENAMED, found[RENAMED], current)
    lost = {name: value for name, value in values.items() if found[f"{name}.lost"]}
    of = changes.filled(connection, resource.table, lost, id_entity) if lost else {}
    for name in values:
        new = found["new read" if name in only_read else "new"]
        profile.add(f"{name}.{RECENT if current else OLD}", found[f"{name}.empty"], new)
        if name in of:
            profile.add(f"{name}.lost", found[f"{name}.lost"], of[name])
    unknown = changes.unknown_staged(connection, resource.table)
    profile.unknown = {name: Share(rows, current) for name, rows in unknown.items()}
    profile.volatile = volatile
    return profile
