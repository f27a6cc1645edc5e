"""Details read several at a time, no more, in the order asked for, and staged."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from bms.errors import InvalidRecords, Refused
from bms.responses import Detail
from bms_flows.mirror.decisions import ServiceRecord
from bms_flows.mirror.diff import Intake
from bms_flows.mirror.resource import Resource
from bms_flows.mirror.responses import Answers, only
from bms_flows.mirror.rows import Detailed, rename
from bms_flows.mirror.staging import Staging, Unfit
from bms_flows.runtime.coverage import Key

LOG = logging.getLogger(__name__)

CHUNK = 1_000
"""Details staged at once; as often the log says how far a run is."""

Found = Detail[Any] | InvalidRecords | None
"""A detail, what is wrong with it, or nothing: the service has no such row."""


@dataclass
class Details:
    """Reads details beside what the lists say, and stages them."""

    resource: Resource
    fetch: Callable[[Any], Awaitable[Detail[Any]]]
    intake: Intake
    known: Mapping[Key, ServiceRecord]
    staging: Staging
    answers: Answers
    apart: Answers | None
    """Where that part of answers goes that is kept apart; None where nothing of it is kept."""
    read: int = 0
    missing: list[Key] = field(default_factory=list)
    """Rows that the service says it doesn't have."""

    async def take(self, keys: Sequence[Key], ahead: int) -> None:
        """Read the details of `keys`; one that can't be loaded leaves the row as it is listed."""
        waiting: list[Detailed] = []
        started = time.monotonic()
        async for key, found in read_each(keys, self.fetch, ahead):
            self.read += 1
            if found is None:
                self.missing.append(key)
            elif isinstance(found, Detail):
                waiting.append(self._beside_its_list(key, found))
                self._keep(key, found)
            else:
                _, name, code = found.rejected[0]
                self.intake.refuse(Unfit(key, "detail", code, name, b"{}"))
            if len(waiting) >= CHUNK:
                await self.staging.detailed(waiting)
                waiting = []
            if self.read % CHUNK == 0 or self.read == len(keys):
                so_far = (self.resource.name, self.read, len(keys), time.monotonic() - started)
                LOG.info("%s: %d of %d details; %.1f s", *so_far)
        if waiting:
            await self.staging.detailed(waiting)

    def _beside_its_list(self, key: Key, found: Detail[Any]) -> Detailed:
        extra = rename(found.record, found.extra, self.resource.aliases)
        said = self.intake.said(key)
        if said is None:  # no list had it
            flags = self.known[key].flags
            return Detailed(found.record, extra, None, None, flags, deleted=False)
        unsaid = getattr(found.record, "deleted", None) is None
        return Detailed(
            found.record, extra, said.extra, said.digest, said.flags, said.deleted and unsaid
        )

    def _keep(self, key: Key, found: Detail[Any]) -> None:
        """Keep an answer as it came, if it may bring something."""
        if self.intake.stands(key):
            return
        self.answers.keep("details", self.resource.public_detail(found.body))
        if self.apart and self.resource.private:
            fields = self.resource.private.fields | {self.resource.key}
            self.apart.keep("details", only(found.body, fields))


async def read_each(
    keys: Iterable[Key], read: Callable[[Any], Awaitable[Detail[Any]]], ahead: int
) -> AsyncIterator[tuple[Key, Found]]:
    """Yield each key with what the service answers for it, `ahead` requests under way at most."""
    todo = iter(keys)
    under_way: deque[asyncio.Task[tuple[Key, Found]]] = deque()
    try:
        while True:
            while len(under_way) < ahead and (key := next(todo, None)) is not None:
                under_way.append(asyncio.create_task(_read(key, read)))
            if not under_way:
                return
            yield await under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def _read(key: Key, read: Callable[[Any], Awaitable[Detail[Any]]]) -> tuple[Key, Found]:
    try:
        return key, await read(key)
    except InvalidRecords as error:
        return key, error
    except Refused as error:
        # How a row that is gone is answered isn't shown by the interface: our assumption.
        if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            return key, None
        raise
