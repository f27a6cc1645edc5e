"""The service as the engine needs it: what it shows, one record, one create. One class per resource."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

import msgspec

from bms.client import Client
from bms.dates import parse_datetime
from bms.errors import NotFound
from bms_flows.creation.employees import EMPLOYEE
from bms_flows.creation.evidence import Known
from bms_flows.creation.identity import Identity
from bms_flows.creation.resource import Resource


class Made(msgspec.Struct, frozen=True):
    """What the service answered to a create."""

    remote_id: str
    number: int | None = None
    is_standby: bool | None = None


Fence = Callable[[], None]
"""Called right before a create is sent; raises `TooLate` if it may no longer be."""


class TooLate(Exception):
    """The sender stood still for so long that others may be at work on its row; nothing was sent."""


class Remote(Protocol):
    """The service's side of one resource."""

    @property
    def resource(self) -> Resource:
        """What is created."""

    @property
    def identity(self) -> Identity:
        """How its records are told apart."""

    @property
    def create_endpoint(self) -> str:
        """The operation that creates."""

    async def shown(self, scopes: Iterable[Any]) -> list[Known]:
        """Return every record of these parts, whatever its state."""

    async def create(self, body: Mapping[str, Any], fence: Fence) -> Made:
        """Create a record, once; errors as the client's."""

    async def read(self, remote_id: str) -> Any | None:
        """Return a record with all its fields, None where there is none."""

    def named(self, record: Any) -> Made:
        """Return what names a record that was read."""


class Employees:
    """Employees, by entity (interface, operations 2 to 4).

    `writer` sends the creates and should be a client of its own with `attempts=1`: a client that
    waits and sends again by itself would do so beyond the fence.
    """

    resource: Final = EMPLOYEE
    identity: Final = Identity(
        resource=EMPLOYEE.name,
        scope="id_entity",
        keys=[EMPLOYEE.key],
        marks={"name": ("last_name", "first_name"), "start_date": ("start_date",)},
    )
    create_endpoint: Final = "create_employee"

    def __init__(self, reader: Client, writer: Client) -> None:
        self._reader = reader
        self._writer = writer

    async def shown(self, scopes: Iterable[Any]) -> list[Known]:
        """Return every employee of these entities, on standby and former ones included."""
        found: list[Known] = []
        for entity in sorted(set(scopes)):
            listed = await self._reader.list_employees(id_entity=entity, filter="ALL")
            # A row without its key could be the one that is looked for.
            listed.require_all()
            found += [self._known(item, entity) for item in listed]
        return found

    async def create(self, body: Mapping[str, Any], fence: Fence) -> Made:
        """Create an employee."""
        await self._writer.access()  # a token is fetched before the fence, not after it
        fence()
        made = await self._writer.create_employee(body)
        return Made(made.guid_employee, made.id_employee, made.is_standby)

    async def read(self, remote_id: str) -> Any | None:
        """Return an employee's detail."""
        try:
            return (await self._reader.read_employee(remote_id)).record
        except NotFound:
            return None

    def named(self, record: Any) -> Made:
        """Return guid, number and standby of an employee's detail."""
        return Made(record.guid_employee, record.id_employee, record.is_standby)

    def _known(self, item: Any, entity: int) -> Known:
        values = {**msgspec.structs.asdict(item), "id_entity": entity}
        try:
            created_on = parse_datetime(item.created_on, self._reader.settings.time_zone)
        except ValueError:
            created_on = None  # evidence that can't be read is none
        return Known(
            remote_id=item.guid_employee,
            number=item.id_employee,
            is_standby=item.is_standby,
            key=self.identity.key(values),
            marks=self.identity.mark(values),
            created_on=created_on,
            values=values,
        )


REMOTES: Final = {EMPLOYEE.name: Employees}
"""The service's side of each resource that can be created, by the resource's name."""
