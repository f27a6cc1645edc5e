"""Employees, contacts and consultants in the service: list, read, create (operations 2 to 4, 6 to 11)."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, ClassVar, Final

import msgspec

from bms.client import Client
from bms.endpoints import BY_NAME
from bms.errors import BmsError, NotFound
from bms.responses import CreatedId
from bms.transport import BeforeSend
from bms_flows.onboarding.resources.consultant import consultant, consultant_identity
from bms_flows.onboarding.resources.contact import contact, contact_identity
from bms_flows.onboarding.resources.crm_list import CrmList, digest_of
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.employee import EMPLOYEE, EMPLOYEE_IDENTITY
from bms_flows.onboarding.resources.evidence import ServiceRecord, contradicted
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.remote import (
    Created,
    IdUnconfirmed,
    OnId,
    require_scopes,
)
from bms_flows.onboarding.resources.snapshot import ListState, Snapshot
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.list_reader import FetchPage


class Employees:
    """Employees by entity.

    `writer` sends creations and must be a separate client with `attempts=1`: a client with retries
    would send after the time limit of a creation. `entities` are the entities of the connection.
    """

    resource: Final = EMPLOYEE
    identity: Final = EMPLOYEE_IDENTITY
    create_endpoint: Final = "create_employee"

    def __init__(
        self,
        reader: Client,
        writer: Client,
        _: OnboardingSettings | None = None,
        entities: Collection[int] = (),
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._entities = frozenset(entities)
        self._seen: dict[tuple[int, bytes], ServiceRecord] = {}

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> Snapshot:
        """Read all employees, including standby and former employees, of `scopes` and the connection."""
        lists: dict[str, ListState] = {}
        records: dict[str, ServiceRecord] = {}
        for entity in sorted(self._entities.union(scopes)):
            with suppress(NotFound):
                found = await self._list(entity)
                lists[str(entity)] = ListState.of(found.values())
                records |= found
        snapshot = Snapshot(taken_at=at, lists=lists, records=records)
        return require_scopes(snapshot, self._entities)

    def list_of(self, values: Mapping[str, Any]) -> str:
        """Return the list of the entity."""
        return str(values["id_entity"])

    async def refresh(self, snapshot: Snapshot, at: datetime) -> Snapshot:
        """Read the lists of a snapshot again; one request returns a whole list.

        Read each list twice, because one response may lack a record of the other.
        """
        lists: dict[str, ListState] = {}
        records: dict[str, ServiceRecord] = {}
        for entity in snapshot.lists:
            # In sequence: a gateway may answer equal requests in flight with one response.
            found = await self._list(int(entity)) | await self._list(int(entity))
            lists[entity] = ListState.of(found.values())
            records |= found
        return snapshot.refreshed(at, lists, records)

    async def create(
        self, body: Mapping[str, Any], before_send: BeforeSend, on_id: OnId
    ) -> Created:
        """Create an employee; read the record if the response lacks its number or standby flag.

        Managers are referred to by their number. Raises `IdUnconfirmed` if the record is not readable
        yet.
        """
        made = await self._writer.create_employee(body, before_send=before_send)
        if made.id_employee is not None and made.is_standby is not None:
            return Created(made.guid_employee, made.id_employee, made.is_standby)
        await on_id(made.guid_employee)
        try:
            record = await self.read(made.guid_employee)
        except BmsError:
            record = None  # the creation succeeded: an error of the read must not report a failure
        if record is None:
            raise IdUnconfirmed(BY_NAME[self.create_endpoint], made.guid_employee)
        return Created(record.guid_employee, record.id_employee, record.is_standby)

    async def read(self, remote_id: str) -> Any | None:
        """Return the detail of an employee."""
        try:
            return (await self._reader.read_employee(remote_id)).record
        except NotFound:
            return None

    def known(self, record: Any) -> ServiceRecord:
        """Return the detail of an employee as the record of a list."""
        return self._known(record, record.id_entity)

    async def _list(self, entity: int) -> dict[str, ServiceRecord]:
        listed = await self._reader.list_employees(id_entity=entity, filter="ALL")
        listed.require_all()  # a row without its key may be the expected record
        return {item.guid_employee: self._listed(item, entity) for item in listed}

    def _listed(self, item: Any, entity: int) -> ServiceRecord:
        # Every chunk reads the list again; reuse the records of unchanged items.
        mark = (entity, digest_of(item))
        if mark not in self._seen:
            self._seen[mark] = self._known(item, entity)
        return self._seen[mark]

    def _known(self, item: Any, entity: int) -> ServiceRecord:
        values = {**msgspec.structs.asdict(item), "id_entity": entity}
        return ServiceRecord(
            remote_id=item.guid_employee,
            number=item.id_employee,
            is_standby=item.is_standby,
            **self.identity.digests(values)._asdict(),
            created_on=item.created_on,
            values=values,
        )


class Crm(ABC):
    """Contacts or consultants: paged lists that may change while they are read."""

    create_endpoint: ClassVar[str]

    def __init__(
        self,
        resource: Resource,
        identity: Identity,
        reader: Client,
        writer: Client,
        settings: OnboardingSettings,
    ) -> None:
        self.resource = resource
        self.identity = identity
        self._reader = reader
        self._writer = writer
        self._passes = settings.mirror_passes
        self._largest_page = settings.list_page_size
        self._page_size = min(reader.settings.page_size, settings.list_page_size)
        self._seen: dict[bytes, ServiceRecord] = {}

    @abstractmethod
    def _fetches(self) -> Mapping[str, FetchPage]:
        """Return the lists that together contain every record, by name."""

    @abstractmethod
    async def _post(self, body: Mapping[str, Any], before_send: BeforeSend) -> CreatedId:
        """Send a creation."""

    @abstractmethod
    async def _detail(self, number: int) -> Any:
        """Return the detail of a record; raise `NotFound`."""

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> Snapshot:
        """Read all records, including deleted records; nothing if `scopes` is empty.

        Raises `ListUnsettled` if a list changed so much that records may be missing.
        """
        empty = Snapshot(taken_at=at, lists={}, records={})
        if not set(scopes):
            return empty
        read = {each.name: await each.whole() for each in self._lists()}
        return _merged(empty, at, read)

    def list_of(self, values: Mapping[str, Any]) -> str:  # noqa: ARG002 - as of `Remote`
        """Return the list that shows new records."""
        return next(iter(self._fetches()))

    async def refresh(self, snapshot: Snapshot, at: datetime) -> Snapshot:
        """Read the new records of each list; read the whole list if they can't be determined."""
        read = {}
        for each in self._lists():
            state = snapshot.lists.get(each.name)
            found = None if state is None else await each.new(state)
            read[each.name] = found or await each.whole()
        return _merged(snapshot, at, read)

    def _lists(self) -> Sequence[CrmList]:
        return [
            CrmList(name, fetch, self._known, self._passes, self._page_size, self._largest_page)
            for name, fetch in self._fetches().items()
        ]

    async def create(
        self, body: Mapping[str, Any], before_send: BeforeSend, on_id: OnId
    ) -> Created:
        """Create a record and read it back; raise `IdUnconfirmed` if it is not readable or differs.

        The interface does not show the form of the response, and part of a number is also a number.
        """
        made = await self._post(body, before_send)
        await on_id(str(made.id))
        try:
            record = await self.read(str(made.id))
        except BmsError:
            record = None  # the creation succeeded: an error of the read must not report a failure
        endpoint = BY_NAME[self.create_endpoint]
        if record is None:
            raise IdUnconfirmed(endpoint, str(made.id))
        if contradicted(
            self.identity.comparison_digests(body), self.known(record).comparison_fields
        ):
            raise IdUnconfirmed(endpoint, str(made.id), "returned the id of a different record")
        return Created(str(record.id), record.id)

    async def read(self, remote_id: str) -> Any | None:
        """Return the detail of a record."""
        try:
            return await self._detail(int(remote_id))
        except NotFound:
            return None

    def known(self, record: Any) -> ServiceRecord:
        """Return the detail of a record as the record of a list."""
        values = msgspec.structs.asdict(record)
        return ServiceRecord(
            remote_id=str(record.id),
            number=record.id,
            **self.identity.digests(values)._asdict(),
            created_on=record.created_on,
            deleted=bool(values.get("deleted")),
        )

    def _known(self, item: Any, mark: bytes) -> ServiceRecord:
        # Two passes read the list; reuse the records of unchanged items.
        if mark not in self._seen:
            self._seen[mark] = self.known(item)
        return self._seen[mark]


class Contacts(Crm):
    """Contacts of the CRM."""

    resource: Resource = contact()
    create_endpoint = "create_contact"

    def __init__(
        self,
        reader: Client,
        writer: Client,
        settings: OnboardingSettings | None = None,
        _: Collection[int] = (),
    ) -> None:
        settings = settings or OnboardingSettings()
        own = contact(settings.phone_region)
        super().__init__(own, contact_identity(own), reader, writer, settings)

    def _fetches(self) -> Mapping[str, FetchPage]:
        # The interface does not show whether filter=ALL includes deleted contacts.
        return {
            "contacts (ALL)": lambda number, size: self._reader.list_contacts(
                filter="ALL", page_number=number, page_size=size
            ),
            "contacts (DELETED)": lambda number, size: self._reader.list_contacts(
                filter="DELETED", page_number=number, page_size=size
            ),
        }

    async def _post(self, body: Mapping[str, Any], before_send: BeforeSend) -> CreatedId:
        return await self._writer.create_contact(body, before_send=before_send)

    async def _detail(self, number: int) -> Any:
        return (await self._reader.read_contact(number)).record


class Consultants(Crm):
    """Consultants of the CRM, which the service cannot delete."""

    resource: Resource = consultant()
    create_endpoint = "create_consultant"

    def __init__(
        self,
        reader: Client,
        writer: Client,
        settings: OnboardingSettings | None = None,
        _: Collection[int] = (),
    ) -> None:
        settings = settings or OnboardingSettings()
        own = consultant(settings.phone_region)
        super().__init__(own, consultant_identity(own), reader, writer, settings)

    def _fetches(self) -> Mapping[str, FetchPage]:
        return {
            "consultants": lambda number, size: self._reader.list_consultants(
                page_number=number, page_size=size
            )
        }

    async def _post(self, body: Mapping[str, Any], before_send: BeforeSend) -> CreatedId:
        return await self._writer.create_consultant(body, before_send=before_send)

    async def _detail(self, number: int) -> Any:
        return (await self._reader.read_consultant(number)).record


def _merged(
    snapshot: Snapshot,
    at: datetime,
    read: Mapping[str, tuple[Mapping[str, ServiceRecord], ListState]],
) -> Snapshot:
    lists = {name: state for name, (_, state) in read.items()}
    records = {i: known for found, _ in read.values() for i, known in found.items()}
    return snapshot.refreshed(at, lists, records)


REMOTES: Final[Mapping[str, type[Employees] | type[Contacts] | type[Consultants]]] = {
    remote.resource.name: remote for remote in (Employees, Contacts, Consultants)
}
"""The classes by name of their resource."""
