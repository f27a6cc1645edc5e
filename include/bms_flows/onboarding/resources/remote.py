"""Interface between the onboarding engine and the service, per resource: read lists and records, create."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from bms.endpoints import Endpoint
from bms.errors import AmbiguousWrite, Forbidden
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.evidence import RecordIds, ServiceRecord
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.snapshot import ServiceLists

if TYPE_CHECKING:
    from bms.transport import BeforeSend

OnId = Callable[[str], Awaitable[None]]
"""Saves the id that a creation returned, before its record is read."""


class IdUnconfirmed(AmbiguousWrite):
    """A creation returned an id whose record is not readable (yet), or has other data than the body."""

    def __init__(
        self, endpoint: Endpoint, remote_id: str, reason: str = "returned an id that can't be read"
    ) -> None:
        self.remote_id = remote_id
        super().__init__(endpoint, reason)


class NotSent(Exception):
    """A creation was stopped before its first byte was sent; `reason` is a code."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class ListUnsettled(Exception):
    """A list kept changing while it was read, so records may be missing."""

    retriable = True
    retry_after = 60.0

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} kept changing during the read; retry later")


class ScopeUnlisted(Exception):
    """The service answers 404 for a list that must be compared."""

    retriable = True
    retry_after = 60.0

    def __init__(self, scopes: Iterable[Any]) -> None:
        super().__init__(
            f"the service answers 404 for the list of {', '.join(sorted(map(str, scopes)))}, so rows can't"
            " be compared with its records and none is sent. The retry reads the list again; if the"
            " service does not have this entity, remove it from the entities of the connection; if the"
            " entity has no employees, set empty_list_404 of the connection"
        )


class ListIncomparable(Exception):
    """A list hides or alters fields by which rows are compared, as details of its records show."""

    retriable = True
    retry_after = 60.0

    def __init__(self, name: str, fields: Iterable[str], records: int) -> None:
        super().__init__(
            f"{name}: the list lacks or alters {', '.join(fields)} in each of {records} records whose details"
            " were read, so an existing person could not be recognized, and no row is sent. The retry reads"
            " the list again. If it fails, too, check whether the service hides these fields from this"
            " client_id, and whether a cache in front of the service returns the list of another request"
        )


def require_scopes(snapshot: ServiceLists, scopes: Iterable[Any]) -> ServiceLists:
    """Return the snapshot; raise `ScopeUnlisted` if the list of one of `scopes` is missing."""
    if missing := [each for each in scopes if str(each) not in snapshot.lists]:
        raise ScopeUnlisted(missing)
    return snapshot


class Remote(Protocol):
    """Operations of the service on one resource."""

    @property
    def resource(self) -> Resource:
        """The resource."""

    @property
    def identity(self) -> Identity:
        """The match rules of the resource."""

    @property
    def create_endpoint(self) -> str:
        """The name of the creating operation."""

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> ServiceLists:
        """Read all records of the given scopes, in any state; unknown scopes are skipped.

        The entities of the connection are always read, so that rows are compared across entities:
        raises `ScopeUnlisted` if the service has no list of one. Raises `ListIncomparable` if a list
        hides the fields by which rows are compared. `at` is the database's time before the first request.
        """

    def list_of(self, values: Mapping[str, Any]) -> str:
        """Return the name of the list that shows a new record with these values."""

    async def refresh(
        self, snapshot: ServiceLists, scopes: Iterable[Any], at: datetime
    ) -> ServiceLists:
        """Return a snapshot with the records that are new in its lists.

        The list of an entity that is neither of the connection nor of `scopes` may be refused: it stays as
        it was.
        """

    async def create(
        self, body: Mapping[str, Any], before_send: "BeforeSend", on_id: OnId
    ) -> RecordIds:
        """Create a record with one POST; raise the client's errors, and those of `before_send`.

        Calls `on_id` if a read must confirm the returned id: the read may be slow or never end.
        """

    async def read(self, remote_id: str) -> Any | None:
        """Return the detail of a record, None if there is none."""

    def known(self, record: Any) -> ServiceRecord:
        """Return a detail as the record of a list."""


async def read_permitted(remote: Remote, remote_id: str) -> Any | None:
    """Return the detail of a record, None also if the service refuses it: it may restrict some records."""
    try:
        return await remote.read(remote_id)
    except Forbidden:
        return None
