"""The service's side of each resource that can be created (interface, operations 2 to 4 and 6 to 11)."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, ClassVar, Final

import msgspec

from bms.client import Client
from bms.endpoints import BY_NAME
from bms.errors import AmbiguousWrite, BmsError, NotFound
from bms.responses import CreatedId
from bms.transport import BeforeSend
from bms_flows.onboarding.resources.consultant import consultant, consultant_identity
from bms_flows.onboarding.resources.contact import contact, contact_identity
from bms_flows.onboarding.resources.crm_list import CrmList, digest_of
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.employee import EMPLOYEE, EMPLOYEE_IDENTITY
from bms_flows.onboarding.resources.evidence import ServiceRecord, contradicted
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.remote import Created, IdUnconfirmed
from bms_flows.onboarding.resources.snapshot import ListState, Snapshot
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.list_reader import FetchPage


class Employees:
    """Employees, by entity.

    `writer` sends the creates and should be a client of its own with `attempts=1`: a client that
    waits and sends again by itself would do so beyond the time within which a create may leave.
    """

    resource: Final = EMPLOYEE
    identity: Final = EMPLOYEE_IDENTITY
    create_endpoint: Final = "create_employee"

    def __init__(self, reader: Client, writer: Client, _: OnboardingSettings | None = None) -> None:
        self._reader = reader
        self._writer = writer
        self._seen: dict[tuple[int, bytes], ServiceRecord] = {}

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> Snapshot:
        """Read every employee of these entities, on standby and former ones included."""
        lists: dict[str, ListState] = {}
        records: dict[str, ServiceRecord] = {}
        for entity in sorted(set(scopes)):
            with suppress(NotFound):
                found = await self._list(entity)
                lists[str(entity)] = ListState.of(found.values())
                records |= found
        return Snapshot(taken_at=at, lists=lists, records=records)

    async def refresh(self, snapshot: Snapshot, at: datetime) -> Snapshot:
        """Read the entities of a snapshot again: one request returns a whole list.

        Each list is read twice: one answer may lack a record that the other one shows.
        """
        lists: dict[str, ListState] = {}
        records: dict[str, ServiceRecord] = {}
        for entity in snapshot.lists:
            found = await self._list(int(entity)) | await self._list(int(entity))
            lists[entity] = ListState.of(found.values())
            records |= found
        return snapshot.refreshed(at, lists, records)

    async def create(self, body: Mapping[str, Any], before_send: BeforeSend) -> Created:
        """Create an employee."""
        made = await self._writer.create_employee(body, before_send=before_send)
        return Created(made.guid_employee, made.id_employee, made.is_standby)

    async def read(self, remote_id: str) -> Any | None:
        """Return an employee's detail."""
        try:
            return (await self._reader.read_employee(remote_id)).record
        except NotFound:
            return None

    def known(self, record: Any) -> ServiceRecord:
        """Return an employee's detail as a list would show it."""
        return self._known(record, record.id_entity)

    async def _list(self, entity: int) -> dict[str, ServiceRecord]:
        listed = await self._reader.list_employees(id_entity=entity, filter="ALL")
        listed.require_all()  # a row without its key could be the one that is looked for
        return {item.guid_employee: self._listed(item, entity) for item in listed}

    def _listed(self, item: Any, entity: int) -> ServiceRecord:
        # Every chunk reads the list again: what was made of an unchanged item is used again.
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
            key=self.identity.key(values),
            other_digests=self.identity.other_digests(values),
            loose_digests=self.identity.loose_digests(values),
            comparison_fields=self.identity.comparison_digests(values),
            values=values,
        )


class Crm(ABC):
    """Contacts or consultants: paged lists, which items may come to and leave while they are read."""

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
        sizes = [settings.list_page_size, reader.settings.page_size]
        self._page_sizes = sorted(set(sizes), reverse=True)
        self._seen: dict[bytes, ServiceRecord] = {}

    @abstractmethod
    def _fetches(self) -> Mapping[str, FetchPage]:
        """Return the lists that together show every record, by name."""

    @abstractmethod
    async def _post(self, body: Mapping[str, Any], before_send: BeforeSend) -> CreatedId:
        """Send a create."""

    @abstractmethod
    async def _detail(self, number: int) -> Any:
        """Return a record; raise `NotFound`."""

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> Snapshot:
        """Read every record, deleted ones included; nothing where no scope is given.

        Raises `ListUnsettled` where a list moved so much that records may be missing.
        """
        empty = Snapshot(taken_at=at, lists={}, records={})
        if not set(scopes):
            return empty
        read = {each.name: await each.whole(self._page_sizes) for each in self._lists()}
        return _merged(empty, at, read)

    async def refresh(self, snapshot: Snapshot, at: datetime) -> Snapshot:
        """Read what is new in each list, and a list whole where its ends can't tell that."""
        read = {}
        for each in self._lists():
            state = snapshot.lists.get(each.name)
            found = None if state is None else await each.new(state)
            sizes = self._page_sizes if state is None else [state.page_size]
            read[each.name] = found or await each.whole(sizes)
        return _merged(snapshot, at, read)

    def _lists(self) -> Sequence[CrmList]:
        return [
            CrmList(name, fetch, self._known, self._passes)
            for name, fetch in self._fetches().items()
        ]

    async def create(self, body: Mapping[str, Any], before_send: BeforeSend) -> Created:
        """Create a record and read it back; raise `AmbiguousWrite` where it isn't the one that was sent.

        What the answer looks like is not shown by the interface: half of a number is a number too.
        `IdUnconfirmed` carries an id whose record can't be read yet.
        """
        made = await self._post(body, before_send)
        try:
            record = await self.read(str(made.id))
        except BmsError:
            record = None  # the create was answered: no error of a read may say that it wasn't
        endpoint = BY_NAME[self.create_endpoint]
        if record is None:
            raise IdUnconfirmed(endpoint, str(made.id))
        if contradicted(
            self.identity.comparison_digests(body), self.known(record).comparison_fields
        ):
            raise AmbiguousWrite(endpoint, "answered with an id that leads elsewhere")
        return Created(str(record.id), record.id)

    async def read(self, remote_id: str) -> Any | None:
        """Return a record's detail."""
        try:
            return await self._detail(int(remote_id))
        except NotFound:
            return None

    def known(self, record: Any) -> ServiceRecord:
        """Return a record's detail as a list would show it."""
        values = msgspec.structs.asdict(record)
        return ServiceRecord(
            remote_id=str(record.id),
            number=record.id,
            key=self.identity.key(values),
            other_digests=self.identity.other_digests(values),
            loose_digests=self.identity.loose_digests(values),
            comparison_fields=self.identity.comparison_digests(values),
            deleted=bool(values.get("deleted")),
        )

    def _known(self, item: Any, mark: bytes) -> ServiceRecord:
        # A whole reading passes a list twice: what was made of an unchanged item is used again.
        if mark not in self._seen:
            self._seen[mark] = self.known(item)
        return self._seen[mark]


class Contacts(Crm):
    """Contacts of the CRM."""

    resource: Resource = contact()
    create_endpoint = "create_contact"

    def __init__(
        self, reader: Client, writer: Client, settings: OnboardingSettings | None = None
    ) -> None:
        settings = settings or OnboardingSettings()
        own = contact(settings.phone_region)
        super().__init__(own, contact_identity(own), reader, writer, settings)

    def _fetches(self) -> Mapping[str, FetchPage]:
        # Whether filter=ALL has deleted contacts is not shown by the interface.
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
    """Consultants of the CRM; the interface names no way in which one is deleted."""

    resource: Resource = consultant()
    create_endpoint = "create_consultant"

    def __init__(
        self, reader: Client, writer: Client, settings: OnboardingSettings | None = None
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
"""The service's side of each resource that can be created, by the resource's name."""
