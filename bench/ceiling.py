r"""Ceiling of a load: the same requests, COPY and one merge in one transaction, without our code.

No checks, versions, raw responses, Parquet or retries. The JSON values go to COPY unchanged:
PostgreSQL's CSV reads quoted strings and bare numbers, and only rows with other escapes than `\"`
and `\\` are decoded. Prints seconds and memory as JSON. `--variant` selects the work:

fetch    discard the responses;
compare  split the responses into rows, digest each row, look its key up in the stored hashes;
one      split, COPY and merge in one thread beside the event loop;
two      split in one thread, COPY and merge in another;
batches  like `two`, merged every 20,000 rows.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import psycopg

from bench.ceiling_rows import ENVELOPE, Splitter, Target
from bench.peers.task import WORKS, Task, given, timed

BATCH = 20_000
AHEAD = 4
"""Responses between two threads."""

Query = dict[str, str]
Ask = Callable[[Query], Awaitable[bytes]]
RAWS = msgspec.json.Decoder(list[msgspec.Raw])


@asynccontextmanager
async def session_of(task: Task) -> AsyncIterator[Ask]:
    """Yield the function that sends a request of a logged-in session."""
    connector = aiohttp.TCPConnector(limit=task.in_flight)
    url, bearer = f"{task.url}/{task.path}", {"Authorization": f"Bearer {task.token()}"}
    async with aiohttp.ClientSession(connector=connector, read_bufsize=1 << 20) as session:

        async def ask(query: Query) -> bytes:
            async with session.get(url, params=query, headers=bearer) as answer:
                answer.raise_for_status()
                return await answer.read()

        yield ask


async def in_order(ask: Ask, wanted: Iterator[Query], most: int) -> AsyncIterator[bytes]:
    """Yield the response of each request in order, with at most `most` requests in flight."""
    open_requests: deque[asyncio.Future[bytes]] = deque()
    while True:
        while len(open_requests) < most and (query := next(wanted, None)):
            open_requests.append(asyncio.ensure_future(ask(query)))
        if not open_requests:
            return
        yield await open_requests.popleft()


async def responses(task: Task) -> AsyncIterator[bytes]:
    """Yield each response."""
    async with session_of(task) as ask:
        queries = task.windows()
        if task.work == "contacts":
            first = await ask(task.page(1))
            yield first
            queries = map(task.page, range(2, ENVELOPE.decode(first).total_pages + 1))
        async for body in in_order(ask, queries, task.in_flight):
            yield body


async def compare(task: Task) -> None:
    """Digest each row and look it up in the stored hashes."""
    table, column, key = f"bms.{task.table}", WORKS[task.work]["hash"], task.fields[0]
    with psycopg.connect(task.database) as connection, connection.cursor(binary=True) as cursor:
        statement = f"select {key}, {column} from {table}".encode()  # noqa: S608 - names of this file
        stored: dict[Any, Any] = dict(cursor.execute(statement).fetchall())
    known, splitter = {*stored.values()}, Splitter(task.fields)

    def unknown(body: bytes) -> int:
        raws = RAWS.decode(splitter.array(body))
        return sum(hashlib.blake2b(raw, digest_size=16).digest() not in known for raw in raws)

    async for body in responses(task):
        await asyncio.to_thread(unknown, body)


async def load(task: Task) -> None:
    """Load everything."""
    target, splitter = Target(task), Splitter(task.fields)
    staged = 0
    waiting: deque[Future[None]] = deque()

    def write(content: bytes, merging: bool) -> None:
        target.copy(content)
        if merging:
            target.merge()

    with ThreadPoolExecutor(1) as split, ThreadPoolExecutor(1) as other:
        thread = split if task.variant == "one" else other
        loop = asyncio.get_running_loop()
        async for body in responses(task):
            found, content = await loop.run_in_executor(split, splitter.csv, body)
            staged += found
            merging = task.variant == "batches" and staged >= BATCH
            staged = 0 if merging else staged
            waiting.append(thread.submit(write, content, merging))
            if len(waiting) > AHEAD:
                await asyncio.wrap_future(waiting.popleft())
        thread.submit(target.merge)
    for each in waiting:
        each.result()
    target.close()


async def fetch(task: Task) -> None:
    """Discard the responses."""
    async for _ in responses(task):
        pass


if __name__ == "__main__":
    task = given()
    work = {"fetch": fetch, "compare": compare}.get(task.variant, load)
    timed(lambda: asyncio.run(work(task)))
