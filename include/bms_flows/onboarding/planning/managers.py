"""Resolution of managers (payroll number, e-mail) to `id_manager` or to another row of the file. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Final

from bms.dates import parse_date
from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.match_rules import normalize

NUMBER: Final = "id_manager"
PAYROLL: Final = "manager_payroll_number"
EMAIL: Final = "manager_email"
WAYS: Final = (NUMBER, PAYROLL, EMAIL)


@dataclass(frozen=True)
class Numbered:
    """A record of the service, by the number that `id_manager` requires."""

    number: int


@dataclass(frozen=True)
class Unnumbered:
    """A record of the service that is listed without the number that `id_manager` requires."""

    remote_id: str


@dataclass(frozen=True)
class FileRow:
    """A row of the file, by key; the manager is created before the reports."""

    key: str


Manager = Numbered | FileRow
"""The manager of a row."""


@dataclass(frozen=True)
class ManagerCandidate:
    """A record of the service or a row of the file that may be a manager.

    `left_on`: last day of work of a leaver. `creates`: the row is another person than every record.
    """

    entity: str | None
    payroll: str | None
    email: str | None
    who: Manager | Unnumbered
    left_on: date | None = None
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
            return Fault("manager_twice", line, field=named[1], details={"other": named[0]})
        [way] = named
        if way == NUMBER:
            return Numbered(int(values[NUMBER]))
        found = self._find(way, values)
        return Fault(found, line, field=way) if isinstance(found, str) else found

    def _find(self, way: str, values: Mapping[str, Any]) -> Manager | str:
        """Return the manager whom `way` names, or the code of a fault."""
        wanted, entity = normalize(values[way]), normalize(values.get("id_entity"))
        found = (self._by_email if way == EMAIL else self._by_payroll).get(wanted, ())
        if way == PAYROLL:  # payroll numbers are unique per entity
            here = [each for each in found if each.entity == entity]
            if found and not here:
                return "manager_elsewhere"
            found = here
        best = _best(found)
        if len(best) != 1:
            return "manager_ambiguous" if best else "manager_unknown"
        [who] = best
        start = values.get("start_date")
        if any(e.who == who and e.left_on and (not start or e.left_on < start) for e in found):
            return "manager_left"
        return "manager_without_number" if isinstance(who, Unnumbered) else who

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
        Unnumbered(known.remote_id) if known.number is None else Numbered(known.number),
        left_on=parse_date(str(values["departure_date"])) if values.get("departure_date") else None,
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
        record.who if record else FileRow(key),
        left_on=record.left_on if record else None,
        creates=creates,
    )


def _best(found: Sequence[ManagerCandidate]) -> AbstractSet[Manager | Unnumbered]:
    if all(isinstance(each.who, FileRow) for each in found):
        return {each.who for each in found}
    return {each.who for each in found if each.creates or not isinstance(each.who, FileRow)}


def _grouped(
    pairs: Iterable[tuple[str, ManagerCandidate]],
) -> Mapping[str | None, Sequence[ManagerCandidate]]:
    groups: dict[str | None, list[ManagerCandidate]] = defaultdict(list)
    for key, each in pairs:
        groups[key].append(each)
    return groups
