"""The service's side of each resource that can be created (interface, operations 2 to 4 and 6 to 11)."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from bms.answers import CreatedId, Page
from bms.client import Client
from bms.dates import parse_datetime
from bms.endpoints import BY_NAME
from bms.errors import AmbiguousWrite, BmsError, NotFound
from bms.transport import BeforeSend
from bms_flows.creation.consultants import consultant, consultant_identity
from bms_flows.creation.contacts import contact, contact_identity
from bms_flows.creation.employees import EMPLOYEE, EMPLOYEE_IDENTITY
from bms_flows.creation.evidence import Known, contradicted
from bms_flows.creation.identity import Identity
from bms_flows.creation.remote import ListUnsettled, Made
from bms_flows.creation.resource import Resource
from bms_flows.creation.settings import Settings
from bms_flows.mirror.reading import Fetch, Reading


class Employees:
    """Employees, by entity.

    `writer` sends the creates and should be a client of its own with `attempts=1`: a client that
    waits and sends again by itself would do so beyond the time within which a create may leave.
    """

    resource: Final = EMPLOYEE
    identity: Final = EMPLOYEE_IDENTITY
    create_endpoint: Final = "create_employee"

    def __init__(self, reader: Client, writer: Client, _: Settings | None = None) -> None:
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

    async def create(self, body: Mapping[str, Any], before_send: BeforeSend) -> Made:
        """Create an employee."""
        made = await self._writer.create_employee(body, before_send=before_send)
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
        return Known(
            remote_id=item.guid_employee,
            number=item.id_employee,
            is_standby=item.is_standby,
            key=self.identity.key(values),
            others=self.identity.others(values),
            marks=self.identity.mark(values),
            created_on=_when(self._reader, item),
            values=values,
        )


class Crm(ABC):
    """Contacts or consultants: paged lists, which items may come to and leave while they are read."""

    create_endpoint: ClassVar[str]

    def __init__(
        self, resource: Resource, identity: Identity, reader: Client, writer: Client, passes: int
    ) -> None:
        self.resource = resource
        self.identity = identity
        self._reader = reader
        self._writer = writer
        self._passes = passes
        self._seen: dict[bytes, Known] = {}

    @abstractmethod
    def _lists(self) -> Sequence[Fetch]:
        """Return the lists that together show every record."""

    @abstractmethod
    async def _post(self, body: Mapping[str, Any], before_send: BeforeSend) -> CreatedId:
        """Send a create."""

    @abstractmethod
    async def _detail(self, number: int) -> Any:
        """Return a record; raise `NotFound`."""

    async def shown(self, scopes: Iterable[Any]) -> list[Known]:
        """Return every record, deleted ones included.

        Raises `ListUnsettled` where a list moved so much that records may be missing.
        """
        found: dict[str, Known] = {}
        if not set(scopes):
            return []
        for fetch in self._lists():
            listed: dict[str, Known] = {}

            async def take(
                page: Page[Any], listed: dict[str, Known] = listed
            ) -> list[tuple[int, bytes]]:
                page.require_all()
                marked = [(item, _digest(item)) for item in page]
                listed.update({str(item.id): self._known(item, mark) for item, mark in marked})
                return [(item.id, mark) for item, mark in marked]

            reading = Reading(fetch, take, self._reader.settings.page_size)
            await reading.until_agreed(self._passes)
            if not reading.agreed:
                raise ListUnsettled(self.resource.name)
            found.update(listed)
        return list(found.values())

    async def create(self, body: Mapping[str, Any], before_send: BeforeSend) -> Made:
        """Create a record; an answer that doesn't lead to it leaves it in doubt (`AmbiguousWrite`).

        What the answer looks like is not shown by the interface, so an id counts once its record
        was seen: half of a number is a number too.
        """
        made = await self._post(body, before_send)
        try:
            record = await self.read(str(made.id))
        except BmsError:
            record = None  # the create was answered: no error of a read may say that it wasn't
        if record is None or contradicted(self._marks(body), self._marks(record)):
            endpoint = BY_NAME[self.create_endpoint]
            raise AmbiguousWrite(endpoint, "answered with an id that leads elsewhere")
        return self.named(record)

    async def read(self, remote_id: str) -> Any | None:
        """Return a record's detail."""
        try:
            return await self._detail(int(remote_id))
        except NotFound:
            return None

    def named(self, record: Any) -> Made:
        """Return the id of a record's detail."""
        return Made(str(record.id), record.id)

    def _marks(self, of: Any) -> Mapping[str, str | None]:
        return self.identity.mark(of if isinstance(of, Mapping) else msgspec.structs.asdict(of))

    def _known(self, item: Any, mark: bytes) -> Known:
        # Every look reads the whole list: what was made of a row that is as it was stays.
        if mark not in self._seen:
            values = msgspec.structs.asdict(item)
            self._seen[mark] = Known(
                remote_id=str(item.id),
                number=item.id,
                key=self.identity.key(values),
                others=self.identity.others(values),
                marks=self.identity.mark(values),
                created_on=_when(self._reader, item),
                deleted=bool(values.get("deleted")),
            )
        return self._seen[mark]


class Contacts(Crm):
    """Contacts of the CRM."""

    resource: Resource = contact()
    create_endpoint = "create_contact"

    def __init__(self, reader: Client, writer: Client, settings: Settings | None = None) -> None:
        settings = settings or Settings()
        own = contact(settings.phone_region)
        super().__init__(own, contact_identity(own), reader, writer, settings.mirror_passes)

    def _lists(self) -> Sequence[Fetch]:
        # Whether filter=ALL has deleted contacts is not shown by the interface.
        return [
            lambda number, size: self._reader.list_contacts(
                filter="ALL", page_number=number, page_size=size
            ),
            lambda number, size: self._reader.list_contacts(
                filter="DELETED", page_number=number, page_size=size
            ),
        ]

    async def _post(self, body: Mapping[str, Any], before_send: BeforeSend) -> CreatedId:
        return await self._writer.create_contact(body, before_send=before_send)

    async def _detail(self, number: int) -> Any:
        return (await self._reader.read_contact(number)).record


class Consultants(Crm):
    """Consultants of the CRM; the interface names no way in which one is deleted."""

    resource: Resource = consultant()
    create_endpoint = "create_consultant"

    def __init__(self, reader: Client, writer: Client, settings: Settings | None = None) -> None:
        settings = settings or Settings()
        own = consultant(settings.phone_region)
        super().__init__(own, consultant_identity(own), reader, writer, settings.mirror_passes)

    def _lists(self) -> Sequence[Fetch]:
        return [
            lambda number, size: self._reader.list_consultants(page_number=number, page_size=size)
        ]

    async def _post(self, body: Mapping[str, Any], before_send: BeforeSend) -> CreatedId:
        return await self._writer.create_consultant(body, before_send=before_send)

    async def _detail(self, number: int) -> Any:
        return (await self._reader.read_consultant(number)).record


def _digest(item: Any) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(item), digest_size=16).digest()


def _when(reader: Client, item: Any) -> Any:
    try:
        return parse_datetime(item.created_on, reader.settings.time_zone)
    except ValueError:
        return None  # evidence that can't be read is none


REMOTES: Final[Mapping[str, type[Employees] | type[Contacts] | type[Consultants]]] = {
    remote.resource.name: remote for remote in (Employees, Contacts, Consultants)
}
"""The service's side of each resource that can be created, by the resource's name."""
