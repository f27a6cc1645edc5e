"""Mirrored resources: what their tables, mirrors, DAGs and documentation rows need besides the records.

DAG files import this module: it imports nothing heavy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from bms.endpoints import BY_NAME, BY_OPERATION, Param
from bms.records.declaration import Described, Record, described

ColumnKind = Literal["bigint", "boolean", "date", "json", "numeric", "text", "time"]
Column = tuple[str, ColumnKind, str]
"""Name of a field of the service, kind of its column, and its meaning."""

KINDS: Final[Mapping[str, ColumnKind]] = {
    "integer": "bigint",
    "boolean": "boolean",
    "amount": "numeric",
    "day": "date",
    "timestamp": "time",
    "text": "text",
    "nested": "json",
}


def column(field: Described) -> Column:
    """Return the column of a field."""
    return field.column, "text" if field.verbatim else KINDS[field.kind], field.meaning


@dataclass(frozen=True)
class ListFlag:
    """A column that records whether a filtered list contains the row."""

    name: str
    filter: str
    """Value of the query parameter `filter` that requests the list."""
    meaning: str
    nullable: bool = False
    """Whether some runs do not read the list, so that the flag of a new row may be unknown."""


@dataclass(frozen=True, kw_only=True)
class ResourceDescription:
    """A resource of the service with a list, mirrored in a table of the same name."""

    name: str
    plural: str
    filter: str | None = None
    """Value of the query parameter `filter` that requests every row."""
    other_filters: Sequence[str] = ()
    """Values of `filter` that a run may use instead, to read some of the rows."""
    deleted_filter: str | None = None
    """Value of `filter` that requests deleted rows."""
    flags: Sequence[ListFlag] = ()
    has_detail: bool = True
    """Whether an operation reads one record; if not, a complete run alone proves a removal."""
    dag_id: str = ""
    """The DAG; empty: `<name>_sync`."""
    fresh_hours: float = 26
    """Default freshness target of the mirror, in hours."""
    deadline_hours: float = 2
    """Hours after which a run counts as overdue."""

    @property
    def item(self) -> type[Record]:
        """The record that the list returns."""
        return self._record(self.list_operation)

    @property
    def detail(self) -> type[Record]:
        """The record of the detail; the list's own if the service has no detail."""
        return self._record(self.read_operation) if self.has_detail else self.item

    def _record(self, operation: str) -> type[Record]:
        if operation not in BY_OPERATION:
            raise LookupError(
                f"the mirror of {self.plural} needs the record of {operation}: add the operation to "
                "bms.endpoints, or describe a resource without detail by has_detail=False"
            )
        return BY_OPERATION[operation]

    @cached_property
    def fields(self) -> Mapping[str, Described]:
        """Fields of list and detail by column, in the order of the list; the key is the first."""
        both = [*described(self.item).values(), *described(self.detail).values()]
        return {each.column: each for each in both}

    @property
    def columns(self) -> Sequence[Column]:
        """Columns of the fields, without those of the restricted table; the first is the key."""
        marked = self.detail_columns
        return [
            (name, kind, f"{meaning} Read with the detail." if name in marked else meaning)
            for name, kind, meaning in map(column, self.fields.values())
            if self.fields[name].privacy != "restricted" and name != "deleted"
        ]

    @property
    def private_columns(self) -> Sequence[Column]:
        """Columns of the restricted table `<name>_private`, whose fields may not be stored at all."""
        found = [column(each) for each in self.fields.values() if each.privacy == "restricted"]
        if found and not self.has_detail:
            raise ValueError(
                f"{self.name}: restricted fields are stored from the detail, but has_detail is False"
            )
        return found

    @property
    def aliases(self) -> Mapping[str, str]:
        """Column of each field that list and detail name differently, alternative names included."""
        both = [*described(self.item).values(), *described(self.detail).values()]
        renamed = {each.column for each in both if each.name != each.column}
        names = {each.name: each.column for each in both if each.column in renamed}
        return names | {alias: each.column for each in both for alias in each.aliases}

    @property
    def constants(self) -> Sequence[str]:
        """Columns with one value for the whole list: the requested entity."""
        return ("_entity", "id_entity") if self.per_entity else ()

    @property
    def restrictions(self) -> Sequence[Param]:
        """Optional parameters of the list besides the filter; also params of the DAG."""
        params = BY_NAME[self.list_operation].params
        return [each for each in params if not each.required and each.name != "filter"]

    @property
    def per_entity(self) -> bool:
        """Whether each entity has a list."""
        return any(each.name == "id_entity" for each in BY_NAME[self.list_operation].params)

    @property
    def system(self) -> str:
        """The part of the service: CRM or HR."""
        return BY_NAME[self.list_operation].path.split("/")[2]

    @property
    def key(self) -> str:
        """The field that identifies a record."""
        return self.item.KEY

    @property
    def list_operation(self) -> str:
        """The operation that lists the records."""
        return f"list_{self.plural}"

    @property
    def read_operation(self) -> str:
        """The operation that reads one record."""
        return f"read_{self.name}"

    @property
    def operations(self) -> Sequence[str]:
        """The operations that a run requests."""
        return [self.list_operation, *([self.read_operation] if self.has_detail else [])]

    @property
    def detail_columns(self) -> Sequence[str]:
        """The columns that only the detail fills."""
        listed = {each.column for each in described(self.item).values()} | {*self.constants}
        return [
            name
            for name, each in self.fields.items()
            if name not in listed and each.privacy != "restricted"
        ]

    @property
    def details_level(self) -> str:
        """Name of the param, and of the setting, that decides whether private fields are stored."""
        return f"{self.name}_details"

    @property
    def title(self) -> str:
        """Title on the board."""
        return self.plural.capitalize()


CONTACT: Final = ResourceDescription(
    name="contact",
    plural="contacts",
    filter="ALL",
    other_filters=("ACTIVE", "ASSIGNED", "DELETED"),
    deleted_filter="DELETED",
    flags=(
        ListFlag(
            "_assigned",
            "ASSIGNED",
            "Whether the list with filter=ASSIGNED contains the contact; null until a run reads "
            "that list.",
            nullable=True,
        ),
    ),
    fresh_hours=1.5,
    deadline_hours=0.5,
)

CONSULTANT: Final = ResourceDescription(name="consultant", plural="consultants")

EMPLOYEE: Final = ResourceDescription(
    name="employee",
    plural="employees",
    dag_id="employee_directory",
    filter="ALL",
    flags=(
        ListFlag(
            "_standby", "STANDBY", "Whether the list with filter=STANDBY contains the employee."
        ),
        ListFlag("_former", "FORMER", "Whether the list with filter=FORMER contains the employee."),
    ),
)

RESOURCES: Final = (
    CONTACT,
    CONSULTANT,
    EMPLOYEE,
)

WITH_PRIVATE_FIELDS: Final = tuple(each for each in RESOURCES if each.private_columns)
"""Resources whose restricted table a param and a setting switch on."""
