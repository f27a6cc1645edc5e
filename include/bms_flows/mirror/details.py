"""Concurrent reading of details, in the requested order, and their staging."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from msgspec.structs import replace

from bms.errors import (
    BmsError,
    Forbidden,
    InvalidRecords,
    MalformedResponse,
    Refused,
    ServiceUnavailable,
    Timeout,
)
from bms.responses import Detail
from bms_flows.mirror.diff import ListDiff
from bms_flows.mirror.responses import ResponseFiles, only
from bms_flows.mirror.rows import DetailItem, ListState, rename
from bms_flows.mirror.staging import Staging, UnstorableRow
from bms_flows.runtime.coverage import Key

LOG = logging.getLogger(__name__)

CHUNK = 1_000
"""Details staged at once; the progress is logged at the same interval."""

STAGE_S = 10.0
"""Seconds after which read details are staged: a run that has lost its session ends soon after."""

MAX_UNAVAILABLE = 10
"""Details that may fail in a run, or one in a hundred; more are an outage, which fails the run."""

RECORD_ERRORS = (InvalidRecords, MalformedResponse, Refused, ServiceUnavailable, Timeout)
"""Errors whose cause may be a single record."""

DetailResult = Detail[Any] | BmsError | None
"""A detail, one of `RECORD_ERRORS`, or None if the service has no such row."""


@dataclass
class Details:
    """Reads details, combines them with their list items and stages them."""

    diff: ListDiff
    staging: Staging
    private_responses: ResponseFiles | None
    """Storage of the private part of responses; None if the run does not store private fields."""
    read: int = 0
    missing: list[Key] = field(default_factory=list)
    """Rows that the service does not have."""
    unlisted: set[Key] = field(default_factory=set)
    """Rows that the service has although no list does any longer."""
    unavailable: int = 0
    """Details that the service failed to give."""

    async def load(self, keys: Sequence[Key], concurrency: int) -> None:
        """Read and stage the details of `keys`; a row with an invalid detail stays without a detail.

        A forbidden or failed detail concerns its row only. Raises its error if the service has never
        given the detail of any row, if more than `MAX_UNAVAILABLE` fail, or if the service forbids
        the detail of a row that no list has.
        """
        fetch, known = self.diff.source.detail, self.diff.known
        if fetch is None:  # only the lists show which rows exist
            self.missing.extend(keys)
            return
        waiting: list[DetailItem] = []
        failed: BmsError | None = None
        readable = any(row.detailed for row in known.values())
        started = staged = time.monotonic()
        async for key, found in read_each(keys, fetch, concurrency):
            self.read += 1
            if isinstance(found, Detail) and found.record.key == key:
                readable = True
                waiting.append(self._with_list_state(key, found))
                await self._store(key, found)
            else:
                self._unreadable(key, found)
                if isinstance(found, BmsError) and not isinstance(found, InvalidRecords):
                    failed = found
            if len(waiting) >= CHUNK or (waiting and time.monotonic() - staged > STAGE_S):
                await self.staging.detailed(waiting)
                waiting, staged = [], time.monotonic()
            if self.read % CHUNK == 0 or self.read == len(keys):
                so_far = (self.diff.resource.name, self.read, len(keys), time.monotonic() - started)
                LOG.info("%s: %d of %d details; %.1f s", *so_far)
        if failed and not readable:
            raise failed
        if waiting:
            await self.staging.detailed(waiting)

    def _unreadable(self, key: Key, found: DetailResult) -> None:
        """Quarantine the detail of a row, or count the row as missing."""
        listed = self.diff.list_state(key) is not None
        match found:
            case InvalidRecords():
                _, name, code = found.rejected[0]
                self._reject(key, code, name)
            case Forbidden():
                if not listed:
                    raise found
                self._reject(key, "forbidden", None)
            case BmsError():
                self.unavailable += 1
                if self.unavailable > max(MAX_UNAVAILABLE, self.read // 100):
                    raise found
                self._reject(key, "unavailable", None)
            case Detail() if listed:
                self._reject(key, "other_record", self.diff.resource.key)
            case _:  # absent, or merged into the record that is shown
                self.missing.append(key)

    def _reject(self, key: Key, code: str, name: str | None) -> None:
        self.diff.reject(UnstorableRow(key, "detail", code, name, b"{}"))

    def _with_list_state(self, key: Key, found: Detail[Any]) -> DetailItem:
        extra = self.diff.stable(rename(found.record, found.extra, self.diff.resource.aliases))
        known = self.diff.known.get(key)
        flags = known.flags if known else ()
        listed = self.diff.list_state(key) or ListState(None, None, flags, deleted=False)
        if listed.digest is None and known and known.list_hash is not None:
            self.unlisted.add(key)
        if getattr(found.record, "deleted", None) is not None:
            listed = replace(listed, deleted=False)  # the record's own field precedes
        return DetailItem(found.record, listed, extra)

    async def _store(self, key: Key, found: Detail[Any]) -> None:
        """Store the response if the row is new or changed."""
        if self.diff.is_unchanged(key):
            return
        resource = self.diff.resource
        await self.diff.responses.append("details", resource.public_detail(found.body))
        if self.private_responses:
            fields = resource.private_fields | {resource.key}
            await self.private_responses.append("details", only(found.body, fields))


async def read_each(
    keys: Iterable[Key], read: Callable[[Any], Awaitable[Detail[Any]]], concurrency: int
) -> AsyncIterator[tuple[Key, DetailResult]]:
    """Yield each key with its response; send at most `concurrency` requests at the same time."""
    todo = iter(keys)
    in_flight: deque[asyncio.Task[tuple[Key, DetailResult]]] = deque()
    try:
        while True:
            while len(in_flight) < concurrency and (key := next(todo, None)) is not None:
                in_flight.append(asyncio.create_task(read_detail(key, read)))
            if not in_flight:
                return
            yield await in_flight.popleft()
    finally:
        for task in in_flight:
            task.cancel()
        await asyncio.gather(*in_flight, return_exceptions=True)


async def read_detail(
    key: Key, read: Callable[[Any], Awaitable[Detail[Any]]]
) -> tuple[Key, DetailResult]:
    """Return a key with its response."""
    try:
        return key, await read(key)
    except RECORD_ERRORS as error:
        # The interface does not specify the response for a removed row: our assumption.
        gone = isinstance(error, Refused) and error.status in (
            HTTPStatus.NOT_FOUND,
            HTTPStatus.GONE,
        )
        return key, None if gone else error
