"""Managers of rows: their resolution, rejection of rows by the hierarchy, chunks in its order. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from typing import Any, TypeVar

from bms.dates import parse_date
from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.ledger.entry import EXISTING, UNSENT, Entry, State
from bms_flows.onboarding.planning.plan import Action, PlannedRow, reject
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.match_rules import normalize

T = TypeVar("T", bound=Mapping[Any, Any])

NUMBER, PAYROLL, EMAIL = WAYS = "id_manager", "manager_payroll_number", "manager_email"


Manager = int | str
"""The manager of a row: the number of a record in the service, as `id_manager` requires it, or the key of
a row of the file, which is created before its reports."""


@dataclass(frozen=True)
class Unnumbered:
    """A record of the service that is listed without the number that `id_manager` requires."""

    remote_id: str


@dataclass(frozen=True)
class ManagerCandidate:
    """A record of the service or a row of the file that may be a manager.

    `left_on`: last day of work of a leaver. `deleted`: the service lists the record as deleted.
    `creates`: the row is another person than every record.
    """

    entity: str | None
    payroll: str | None
    email: str | None
    who: Manager | Unnumbered
    left_on: date | None = None
    deleted: bool = False
    creates: bool = False


@dataclass(frozen=True)
class Managers:
    """Index of possible managers.

    Records of the service take precedence over rows of the file that are not created.
    """

    candidates: Sequence[ManagerCandidate]

    def of(self, line: int, values: Mapping[str, Any]) -> Manager | Fault | None:
        """Return the manager of a row, a fault, or None if the row names no manager."""
        named = [way for way in WAYS if values.get(way) not in (None, "")]
        if not named:
            return None
        if len(named) > 1:
            other = EMPLOYEE.by_name[named[0]].label
            return Fault("manager_twice", line, field=named[1], details={"other": other})
        [way] = named
        if way == NUMBER:  # of any entity, thus perhaps not listed
            who = int(values[NUMBER])
            return Fault("manager_deleted", line, field=way) if who in self._deleted else who
        return self._find(way, values, partial(Fault, line=line, field=way))

    def _find(
        self, way: str, values: Mapping[str, Any], fault: Callable[[str], Fault]
    ) -> Manager | Fault:
        """Return the manager whom `way` names, or the `fault` of a code."""
        wanted, entity = normalize(values[way]), normalize(values.get("id_entity"))
        found = (self._by_email if way == EMAIL else self._by_payroll).get(wanted, ())
        if way == PAYROLL:  # payroll numbers are unique per entity
            here = [each for each in found if each.entity == entity]
            if found and not here:
                return fault("manager_elsewhere")
            found = here
        kept = [each for each in found if not each.deleted]
        if found and not kept:
            return fault("manager_deleted")
        best = _best(kept)
        if len(best) != 1:
            return fault("manager_ambiguous" if best else "manager_unknown")
        [who] = best
        start = values.get("start_date")
        if any(e.who == who and e.left_on and (not start or e.left_on < start) for e in found):
            return fault("manager_left")
        return fault("manager_without_number") if isinstance(who, Unnumbered) else who

    @cached_property
    def _deleted(self) -> AbstractSet[Manager | Unnumbered]:
        return {each.who for each in self.candidates if each.deleted}

    @cached_property
    def _by_email(self) -> Mapping[str | None, Sequence[ManagerCandidate]]:
        return _grouped((each.email, each) for each in self.candidates if each.email)

    @cached_property
    def _by_payroll(self) -> Mapping[str | None, Sequence[ManagerCandidate]]:
        return _grouped((each.payroll, each) for each in self.candidates if each.payroll)


def candidate_of_record(known: ServiceRecord) -> ManagerCandidate:
    """Return a record of the service as a possible manager."""
    values = known.values
    return ManagerCandidate(
        normalize(values.get("id_entity")),
        normalize(values.get("payroll_number")),
        normalize(values.get("business_email")),
        Unnumbered(known.remote_id) if known.number is None else known.number,
        left_on=_last_day(values.get("departure_date")),
        deleted=known.deleted,
    )


def candidate_of_row(
    values: Mapping[str, Any], key: str, known: ServiceRecord | None, *, creates: bool
) -> ManagerCandidate:
    """Return a row of the file as a possible manager: its record in the service, else the row itself."""
    record = candidate_of_record(known) if known and not known.deleted else None
    return ManagerCandidate(
        normalize(values.get("id_entity")),
        normalize(values.get("payroll_number")),
        normalize(values.get("business_email")),
        record.who if record else key,
        left_on=record.left_on if record else None,
        creates=creates,
    )


def _last_day(departure: str | None) -> date | None:
    try:
        return parse_date(departure)
    except ValueError:
        return date.min  # unreadable: no row gets a manager who may have left


def _best(found: Sequence[ManagerCandidate]) -> AbstractSet[Manager | Unnumbered]:
    if all(isinstance(each.who, str) for each in found):
        return {each.who for each in found}
    return {each.who for each in found if each.creates or not isinstance(each.who, str)}


def _grouped(
    pairs: Iterable[tuple[str, ManagerCandidate]],
) -> Mapping[str | None, Sequence[ManagerCandidate]]:
    groups: dict[str | None, list[ManagerCandidate]] = defaultdict(list)
    for key, each in pairs:
        groups[key].append(each)
    return groups


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
    size = max(size, -(-len(ordered) // ((most + 1) // 2)))
    cut: list[list[str]] = []
    for family in families.values():
        family.sort(key=depth.__getitem__)
        if cut and len(cut[-1]) + len(family) <= size:
            cut[-1] += family
        else:
            cut.append(family)
    return cut


def reports_first(created: Sequence[T]) -> list[T]:
    """Return records, with `key` and `manager_key`, such that reports precede their managers."""
    manager_of = {each["key"]: each["manager_key"] for each in created}

    def depth(key: str | None) -> int:
        above = 0
        while key in manager_of and above < len(manager_of):
            key, above = manager_of[key], above + 1
        return above

    return sorted(created, key=lambda each: -depth(each["key"]))
