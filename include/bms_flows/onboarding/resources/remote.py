"""The service as the engine needs it: what it shows, one record, one create. `remotes` has a class per resource."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol

import msgspec

from bms.endpoints import Endpoint
from bms.errors import AmbiguousWrite
from bms.transport import BeforeSend
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.snapshot import Snapshot


class Created(msgspec.Struct, frozen=True):
    """What the service answered to a create."""

    remote_id: str
    number: int | None = None
    is_standby: bool | None = None


class IdUnconfirmed(AmbiguousWrite):
    """A create returned an id, and the record that it names can't be read (yet)."""

    def __init__(self, endpoint: Endpoint, remote_id: str) -> None:
        self.remote_id = remote_id
        super().__init__(endpoint, "returned an id that can't be read")


class NotSent(Exception):
    """A create was stopped before its first byte; `reason` is a short code."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class ListUnsettled(Exception):
    """A list kept changing while it was read: records may be missing from what was read."""

    retriable = True
    retry_after = 60.0

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} kept changing during the read; retry later")


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

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> Snapshot:
        """Read every record of these parts, whatever its state; parts that don't exist are left out.

        `at` is the database's time before the first request.
        """

    async def refresh(self, snapshot: Snapshot, at: datetime) -> Snapshot:
        """Read what is new in the lists of a snapshot."""

    async def create(self, body: Mapping[str, Any], before_send: BeforeSend) -> Created:
        """Create a record, once; errors as the client's, and what `before_send` raises."""

    async def read(self, remote_id: str) -> Any | None:
        """Return a record with all its fields, None where there is none."""

    def known(self, record: Any) -> ServiceRecord:
        """Return a record that was read as a list would show it."""
