"""Managers and their reports: rejection of rows by the hierarchy, and chunks in its order. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.ledger.entry import EXISTING, UNSENT, Entry, State
from bms_flows.onboarding.planning.plan import Action, PlannedRow, reject


def in_review(row: PlannedRow, entries: Mapping[str, Entry]) -> bool:
    """Return whether the ledger's row is in review: the ledger keeps its data and manager."""
    entry = entries.get(row.key or "")
    return entry is not None and entry.state is State.REVIEW


def reject_by_hierarchy(
    rows: Sequence[PlannedRow], entries: Mapping[str, Entry]
) -> list[PlannedRow]:
    """Reject rows on a cycle of managers, and rows that report, directly or not, to a rejected row.

    `entries` are the ledger's rows of the file and of all managers above them. An unfinished row of an
    earlier drop keeps its manager in the ledger, so such rows may be a part of a cycle.
    """
    above = _managers_once_entered(rows, entries)
    own = {row.key for row in rows if not in_review(row, entries)}
    cycles = dict.fromkeys(cyclic(above), "manager_cycle_unfinished")
    in_file = {key: manager for key, manager in above.items() if key in own}
    cycles |= dict.fromkeys(cyclic(in_file), "manager_cycle")
    kept = [
        reject(row, Fault(cycles[row.key], row.line))
        if row.key in cycles and _may_wait(row, entries)
        else row
        for row in rows
    ]
    rejected = {row.key for row in kept if row.action is Action.REJECTED}
    # A rejected duplicate does not reject the reports of the accepted row.
    rejected -= {row.key for row in kept if row.action is not Action.REJECTED}
    below = reports(filter(None, rejected), above)
    return [
        reject(row, Fault("manager_rejected", row.line))
        if row.key in below and _may_wait(row, entries)
        else row
        for row in kept
    ]


def _managers_once_entered(
    rows: Sequence[PlannedRow], entries: Mapping[str, Entry]
) -> dict[str, str]:
    """Return the managers of unsent rows by key, as the ledger has them once `rows` are entered.

    A manager that exists in the service is left out: no row waits for it.
    """
    existing = {key for key, entry in entries.items() if entry.state in EXISTING}
    above = {key: e.manager_key for key, e in entries.items() if e.state in UNSENT}
    for row in rows:
        if row.action in {Action.CREATE, Action.REVIEW} and not in_review(row, entries):
            above[row.key or ""] = row.manager_key
    return {key: manager for key, manager in above.items() if manager and manager not in existing}


def _may_wait(row: PlannedRow, entries: Mapping[str, Entry]) -> bool:
    """Return whether a row may wait for its manager; a row in review waits for a reviewer."""
    waits = row.action in {Action.CREATE, Action.REVIEW, Action.RESUME}
    return waits and not in_review(row, entries)


def cyclic(manager_of: Mapping[str, str]) -> AbstractSet[str]:
    """Return the keys of rows on a cycle of managers, without rows that only report into a cycle."""
    found: set[str] = set()
    seen: set[str] = set()
    for start in manager_of:
        path: dict[str, None] = {}
        at: str | None = start
        while at is not None and at not in seen and at not in path:
            path[at] = None
            at = manager_of.get(at)
        if at is not None and at in path:
            keys = list(path)
            found.update(keys[keys.index(at) :])
        seen.update(path)
    return found


def reports(keys: Iterable[str], manager_of: Mapping[str, str]) -> AbstractSet[str]:
    """Return the keys of rows that report, directly or not, to one of `keys`."""
    direct: dict[str, list[str]] = defaultdict(list)
    for key, manager in manager_of.items():
        direct[manager].append(key)
    found: set[str] = set()
    left = list(keys)
    while left:
        new = [key for key in direct[left.pop()] if key not in found]
        found.update(new)
        left += new
    return found


def chunks(
    keys: Iterable[str], manager_of: Mapping[str, str], size: int, most: int
) -> Sequence[Sequence[str]]:
    """Split `keys` into at most `most` independent chunks of about `size` rows.

    Rows connected by managers share a chunk, however large, with each manager before the reports;
    otherwise the given order stays. The ledger has no cycle; the rows of a cycle would still be in
    one chunk each, in any order.
    """
    ordered = list(dict.fromkeys(keys))
    present = set(ordered)
    root: dict[str, str] = {}
    depth: dict[str, int] = {}
    for key in ordered:
        path: dict[str, None] = {}
        at: str | None = key
        while at is not None and at in present and at not in path:
            path[at] = None
            at = manager_of.get(at)
        top = next(reversed(path))
        for level, each in enumerate(reversed(path)):
            root[each], depth[each] = top, level
    families: dict[str, list[str]] = defaultdict(list)
    for key in ordered:
        families[root[key]].append(key)
    # Two adjacent chunks have more than `size` rows together, so this size gives at most `most` chunks.
    size = max(size, len(ordered) // ((most + 1) // 2))
    cut: list[list[str]] = []
    for family in families.values():
        family.sort(key=depth.__getitem__)
        if cut and len(cut[-1]) + len(family) <= size:
            cut[-1] += family
        else:
            cut.append(family)
    return cut
