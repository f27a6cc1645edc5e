"""Managers named by payroll number or e-mail become `id_manager`, or another row of the file. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from bms_flows.creation.evidence import Known
from bms_flows.creation.faults import RowFault
from bms_flows.creation.identity import Identity, folded
from bms_flows.drops.sheet import Fault

NUMBER: Final = "id_manager"
PAYROLL: Final = "manager_payroll_number"
EMAIL: Final = "manager_email"
WAYS: Final = (NUMBER, PAYROLL, EMAIL)


@dataclass(frozen=True)
class Manager:
    """Who a row's manager is: a number of the service, or the key of a row to be created first."""

    number: int | None = None
    key: str | None = None


NOBODY: Final = Manager()


@dataclass(frozen=True)
class Colleague:
    """Somebody who may be a manager: a record of the service, or a row of the file or ledger."""

    entity: str | None
    payroll: str | None
    email: str | None
    manager: Manager


@dataclass(frozen=True)
class Managers:
    """Finds managers among `colleagues`: records of the service stand before rows of the file."""

    colleagues: Sequence[Colleague]

    def of(self, line: int, values: Mapping[str, Any]) -> Manager | Fault:
        """Return the manager that a row names, or what is wrong with the naming."""
        named = [way for way in WAYS if values.get(way) not in (None, "")]
        if not named:
            return NOBODY
        if len(named) > 1:
            return RowFault("manager_twice", line, field=named[1], details={"other": named[0]})
        [way] = named
        if way == NUMBER:
            return Manager(number=int(values[NUMBER]))
        found = self._find(way, folded(values[way]), folded(values.get("id_entity")))
        if len(found) == 1:
            return found.pop()
        return RowFault("manager_ambiguous" if found else "manager_unknown", line, field=way)

    def _find(self, way: str, wanted: str | None, entity: str | None) -> set[Manager]:
        if way == EMAIL:
            return _best(self._by_email.get(wanted, ()), lambda _: True)
        # A payroll number is its entity's own; another entity's is meant where this one has none.
        everywhere = self._by_payroll.get(wanted, ())
        return _best(everywhere, lambda each: each.entity == entity) or _best(
            everywhere, lambda _: True
        )

    @cached_property
    def _by_email(self) -> Mapping[str | None, Sequence[Colleague]]:
        return _grouped((each.email, each) for each in self.colleagues if each.email)

    @cached_property
    def _by_payroll(self) -> Mapping[str | None, Sequence[Colleague]]:
        return _grouped((each.payroll, each) for each in self.colleagues if each.payroll)


def of_record(known: Known) -> Colleague:
    """Return a record of the service as a possible manager."""
    values = known.values
    return Colleague(
        folded(values.get("id_entity")),
        folded(values.get("payroll_number")),
        folded(values.get("business_email")),
        Manager(number=known.number),
    )


def of_row(values: Mapping[str, Any], identity: Identity) -> Colleague:
    """Return a row of the file as a possible manager."""
    return Colleague(
        folded(values.get("id_entity")),
        folded(values.get("payroll_number")),
        folded(values.get("business_email")),
        Manager(key=identity.key(values)),
    )


def _best(found: Iterable[Colleague], fits: Callable[[Colleague], bool]) -> set[Manager]:
    managers = {each.manager for each in found if fits(each)}
    on_service = {manager for manager in managers if manager.number is not None}
    return on_service or managers


def _grouped(
    pairs: Iterable[tuple[str, Colleague]],
) -> Mapping[str | None, Sequence[Colleague]]:
    groups: dict[str | None, list[Colleague]] = defaultdict(list)
    for key, each in pairs:
        groups[key].append(each)
    return groups
