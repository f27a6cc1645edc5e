"""Resolution of managers (payroll number, e-mail) to `id_manager` or to another row of the file. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from bms_flows.onboarding.faults.fault import Fault
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
    """A record of the service or a row of the file that may be a manager."""

    entity: str | None
    payroll: str | None
    email: str | None
    who: Manager | Unnumbered


@dataclass(frozen=True)
class Managers:
    """Index of possible managers; records of the service take precedence over rows of the file."""

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
        found = self._find(way, normalize(values[way]), normalize(values.get("id_entity")))
        if len(found) != 1:
            return Fault("manager_ambiguous" if found else "manager_unknown", line, field=way)
        [who] = found
        if isinstance(who, Unnumbered):
            return Fault("manager_without_number", line, field=way)
        return who

    def _find(
        self, way: str, wanted: str | None, entity: str | None
    ) -> AbstractSet[Manager | Unnumbered]:
        if way == EMAIL:
            return _best(self._by_email.get(wanted, ()), lambda _: True)
        # Payroll numbers are unique per entity; another entity matches only if this entity has none.
        everywhere = self._by_payroll.get(wanted, ())
        return _best(everywhere, lambda each: each.entity == entity) or _best(
            everywhere, lambda _: True
        )

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
    )


def candidate_of_row(values: Mapping[str, Any], key: str) -> ManagerCandidate:
    """Return a row of the file, known by its key, as a possible manager."""
    return ManagerCandidate(
        normalize(values.get("id_entity")),
        normalize(values.get("payroll_number")),
        normalize(values.get("business_email")),
        FileRow(key),
    )


def _best(
    found: Iterable[ManagerCandidate], fits: Callable[[ManagerCandidate], bool]
) -> AbstractSet[Manager | Unnumbered]:
    fitting = {each.who for each in found if fits(each)}
    on_service = {who for who in fitting if not isinstance(who, FileRow)}
    return on_service or fitting


def _grouped(
    pairs: Iterable[tuple[str, ManagerCandidate]],
) -> Mapping[str | None, Sequence[ManagerCandidate]]:
    groups: dict[str | None, list[ManagerCandidate]] = defaultdict(list)
    for key, each in pairs:
        groups[key].append(each)
    return groups
