"""A resource in the service: lists, details and creation (operations 2 to 4, 6 to 11)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from bms.dates import parse_date
from bms.endpoints import BY_NAME
from bms.errors import BmsError, Forbidden, NotFound
from bms.records import Record, described
from bms.responses import Page
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.evidence import (
    RecordIds,
    ServiceRecord,
    contradicted,
    hidden_key,
)
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.normal_forms import phone_region
from bms_flows.onboarding.resources.remote import (
    IdUnconfirmed,
    ListIncomparable,
    ListUnsettled,
    OnId,
    require_scopes,
)
from bms_flows.onboarding.resources.snapshot import ServiceLists, listed
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.digests import content_digest
from bms_flows.runtime.list_reader import ListReader
from bms_flows.runtime.list_snapshot import KeyedRows, ListOrder, ListSnapshot
from bms_flows.runtime.new_rows import new_rows

if TYPE_CHECKING:  # aiohttp, which commands and pages do without
    from bms.client import Client
    from bms.transport import BeforeSend

SAMPLE: Final = 5
"""Records of each list whose details are compared with the list."""
ListRead = tuple[dict[str, ServiceRecord], ListSnapshot]
"""New records of a list by remote id, and all its rows."""


class ServiceRemote:
    """The lists, details and creation of one resource.

    `writer` sends creations and must be a separate client with `attempts=1`: a client with retries
    would send after the time limit of a creation. `entities` are the entities of the connection.
    """

    resource: Resource
    identity: Identity
    create_endpoint: ClassVar[str]
    _list_endpoint: ClassVar[str]
    _detail_endpoint: ClassVar[str]

    def __init__(
        self,
        reader: "Client",
        writer: "Client",
        settings: OnboardingSettings | None = None,
        entities: Collection[int] = (),
    ) -> None:
        settings = settings or OnboardingSettings()
        self.resource, self.identity = self.described(settings.phone_region)
        self._reader = reader
        self._writer = writer
        self._entities = frozenset(entities if self.identity.scope is not None else ())
        self._paged = BY_NAME[self._list_endpoint].paged
        self._passes = settings.mirror_passes
        self._largest_page = settings.list_page_size
        self._page_size = min(reader.settings.page_size, settings.list_page_size)
        self._seen: dict[tuple[str, bytes], ServiceRecord] = {}

    @classmethod
    def described(cls, region: str) -> tuple[Resource, Identity]:
        """Return the resource and its match rules where phone numbers without prefix are of `region`."""
        own = replace(cls.resource, region=phone_region(region))
        return own, cls._identity_of(own)

    @staticmethod
    def _identity_of(resource: Resource) -> Identity:
        """Return the match rules of the resource in its region."""
        raise NotImplementedError

    def _lists(self, scopes: Iterable[Any]) -> Mapping[str, Mapping[str, Any]]:
        """Return the parameters of the lists that together contain every record of `scopes`, by name."""
        raise NotImplementedError

    def list_of(self, values: Mapping[str, Any]) -> str:
        """Return the list that shows a new record with these values."""
        return next(iter(self._lists([self.identity.scope_of(values)])))

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> ServiceLists:
        """Read all records of `scopes` and of the connection's entities, in any state; skip unknown scopes.

        The connection's entities are always read, so that rows are compared across entities: raises
        `ScopeUnlisted` if the service has no list of one. Raises `ListUnsettled` if a list changed so much
        that records may be missing, and `ListIncomparable` if rows can't be compared with its records. `at`
        is the database's time before the first request.
        """
        read: dict[str, ListRead] = {}
        # The service may not have an entity that a row names.
        unknown = () if self.identity.scope is None else (NotFound,)
        for name, params in self._lists(self._entities.union(scopes)).items():
            with suppress(*unknown):
                read[name] = await self._whole(name, params, least=2 if self._paged else 1)
        for name, (found, _) in read.items():
            await self._require_comparable(name, found)
        empty = ServiceLists(taken_at=at, lists={}, records={})
        return require_scopes(_merged(empty, at, read), self._entities)

    async def _require_comparable(self, name: str, listed: Mapping[str, ServiceRecord]) -> None:
        """Raise `ListIncomparable` if details of some records show that the list lacks or alters a key."""
        ids = sorted(listed)[:: -(-len(listed) // SAMPLE) or 1]
        details = [await self._detail(each) for each in ids]
        shown = [
            (self.identity.keys_of(msgspec.structs.asdict(detail)), listed[each])
            for each, detail in zip(ids, details, strict=True)
            if detail is not None
        ]
        if fields := hidden_key(shown):
            raise ListIncomparable(self._label(name), fields, len(shown))

    async def _detail(self, remote_id: str) -> Any | None:
        """Return the detail of a record; None if the service refuses it."""
        try:
            return await self.read(remote_id)
        except BmsError as error:
            if error.retriable:
                raise
            return None

    def _label(self, name: str) -> str:
        return name if self._paged else f"{self.resource.inbox} of entity {name}"

    async def refresh(
        self, snapshot: ServiceLists, scopes: Iterable[Any], at: datetime
    ) -> ServiceLists:
        """Read the new records of each list; read the whole list if they can't be determined.

        An entity that joined the connection since the snapshot is read, too. One that is neither of the
        connection nor of `scopes` may be refused: its list stays as it was.
        """
        read, needed = dict[str, ListRead](), self._lists(self._entities.union(scopes))
        known = {*snapshot.lists, *self._entities} if self.identity.scope else [None]
        for name, params in self._lists(known).items():
            with suppress(*() if name in needed else (NotFound, Forbidden)):
                read[name] = await self._new(name, params, snapshot.lists.get(name))
        return _merged(snapshot, at, read)

    async def _whole(self, name: str, params: Mapping[str, Any], least: int = 2) -> ListRead:
        """Read a list in at least `least` passes until they cover it.

        A list without pages is read `least` times, because one response may lack a record of the other.
        """
        found: dict[str, ServiceRecord] = {}
        order = ListOrder()

        async def take(page: Page[Any]) -> KeyedRows:
            order.note(page)
            rows = self._take(name, page)
            found.update({known.remote_id: known for known, _ in rows})
            return [(known.remote_id, mark) for known, mark in rows]

        fetch = partial(self._page, params)
        label = self._label(name)
        reader = ListReader(fetch, take, self._page_size, label, least, self._largest_page)
        if self._paged:
            await reader.until_agreed(self._passes)
            if not reader.agreed:
                raise ListUnsettled(label)
        else:
            for _ in range(least):  # in sequence: a gateway may merge equal requests in flight
                await reader.one_pass()
        size = reader.passes[0].page_size
        return found, listed(found.values(), page_size=size, newest=order.newest)

    async def _new(
        self, name: str, params: Mapping[str, Any], before: ListSnapshot | None
    ) -> ListRead:
        """Return the records that are new or changed since `before`, or all."""
        found: dict[str, ServiceRecord] = {}

        async def take(page: Page[Any]) -> KeyedRows:
            rows = {known.remote_id: known for known, _ in self._take(name, page)}
            found.update(rows)
            return [(each, known.fingerprint) for each, known in rows.items()]

        if before is None or not self._paged:
            return await self._whole(name, params)
        new = await new_rows(partial(self._page, params), take, before)
        if new is None:
            return await self._whole(name, params)
        records = {str(each): found[str(each)] for each in new}
        return records, replace(before, rows={**before.rows, **new})

    async def _page(self, params: Mapping[str, Any], number: int, size: int) -> Page[Any]:
        read = getattr(self._reader, self._list_endpoint)
        if self._paged:
            page: Page[Any] = await read(**params, page_number=number, page_size=size)
        else:
            page = (await read(**params)).as_page(1, size)
        return replace(page, records=[self._in_local_days(each) for each in page])

    def _in_local_days(self, record: Record) -> Any:
        """Return a record with its days in the service's time zone, which may show midnights in UTC."""
        days = {}
        for name in _days(type(record)):
            text = getattr(record, name)
            with suppress(ValueError):
                day = parse_date(text, self._reader.settings.time_zone)
                if day is not None and not text.startswith(day.isoformat()):
                    days[name] = day.isoformat()
        return msgspec.structs.replace(record, **days) if days else record

    def _take(self, name: str, page: Page[Any]) -> list[tuple[ServiceRecord, bytes]]:
        """Return the records of a page with digests of their items."""
        page.require_all()  # a row without its key may be the expected record
        found = []
        for item in page:
            mark = content_digest(msgspec.json.encode(item))
            # Lists are read more than once; reuse the records of unchanged items.
            if (name, mark) not in self._seen:
                self._seen[name, mark] = self.record_of(self.identity, item, name)
            found.append((self._seen[name, mark], mark))
        return found

    async def create(
        self, body: Mapping[str, Any], before_send: "BeforeSend", on_id: OnId
    ) -> RecordIds:
        """Create a record with one POST; read it back unless the response has everything.

        The interface does not show the form of the response, and part of a number is also a number.
        Calls `on_id` before the read, which may be slow or never end. Raises `IdUnconfirmed` if the
        record is not readable yet, or differs, the client's errors, and those of `before_send`.
        """
        send = getattr(self._writer, self.create_endpoint)
        made = self._created(await send(body, before_send=before_send))
        if made.number is not None and made.is_standby is not None:
            return made
        await on_id(made.remote_id)
        try:
            record = await self.read(made.remote_id)
        except BmsError:
            record = None  # the creation succeeded: an error of the read must not report a failure
        endpoint = BY_NAME[self.create_endpoint]
        if record is None:
            raise IdUnconfirmed(endpoint, made.remote_id)
        known = self.known(record)
        if contradicted(self.identity.comparison_digests(body), known.comparison_fields):
            raise IdUnconfirmed(endpoint, made.remote_id, "returned the id of a different record")
        return known

    def _created(self, made: Any) -> RecordIds:
        """Return the response to a creation."""
        return RecordIds(str(made.id))

    async def read(self, remote_id: str) -> Any | None:
        """Return the detail of a record, None if there is none."""
        key = remote_id if self.identity.scope else int(remote_id)
        try:
            found = await getattr(self._reader, self._detail_endpoint)(key)
        except NotFound:
            return None
        return self._in_local_days(found.record)

    async def read_permitted(self, remote_id: str) -> Any | None:
        """Return the detail of a record, None also if the service refuses it: it may restrict some records."""
        try:
            return await self.read(remote_id)
        except Forbidden:
            return None

    def known(self, record: Any) -> ServiceRecord:
        """Return the detail of a record as the record of a list."""
        return self.record_of(self.identity, record, "")

    @classmethod
    def record_of(cls, identity: Identity, record: Any, name: str) -> ServiceRecord:  # noqa: ARG003 - lists of an entity name it
        """Return an item of the list `name`, or a detail, as a record."""
        values = msgspec.structs.asdict(record)
        return ServiceRecord(
            remote_id=str(record.key),
            number=record.id,
            **identity.digests(values)._asdict(),
            created_on=record.created_on,
            deleted=bool(values.get("deleted")),
        )


@cache
def _days(record: type[Record]) -> Sequence[str]:
    return [name for name, each in described(record).items() if each.kind == "day"]


def _merged(snapshot: ServiceLists, at: datetime, read: Mapping[str, ListRead]) -> ServiceLists:
    lists = {name: state for name, (_, state) in read.items()}
    records = {i: known for found, _ in read.values() for i, known in found.items()}
    return snapshot.refreshed(at, lists, records)
