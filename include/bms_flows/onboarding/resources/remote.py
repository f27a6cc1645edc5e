"""What stops or delays the comparison and creation of records in the service."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from bms.endpoints import Endpoint
from bms.errors import AmbiguousWrite
from bms_flows.onboarding.resources.snapshot import ServiceLists

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
