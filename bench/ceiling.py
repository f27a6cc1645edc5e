r"""Ceiling of a load: the same requests, COPY and one merge in one transaction, without our code.

No checks, versions, raw responses, Parquet or retries. The JSON values go to COPY as they are:
PostgreSQL's CSV reads quoted strings and bare numbers, and only rows with other escapes than `\"`
and `\\` are decoded. Prints seconds, rows and memory as JSON. `--variant` selects the work:

fetch    discard the responses;
compare  split the responses into rows, digest each row, look its key up in the stored hashes;
one      split, COPY and merge in one thread beside the event loop;
two      split in one thread, COPY and merge in another;
batches  like `two`, merged every 20,000 rows.
"""

import argparse
import asyncio
import hashlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import psycopg

from bench.ceiling_rows import ENVELOPE, FIELDS, Splitter, Target

OURS = {
    "invoices": ("bms.client_invoice", "_row_hash"),
    "contacts": ("bms.contact", "_list_hash"),
}
CREDENTIALS = {
    "client_id": "demo-client",
    "application_id": "demo-application",
    "secret": "demo-secret",
}
BATCH = 20_000
AHEAD = 4
"""Responses between two threads."""

Request = tuple[str, dict[str, str]]
Ask = Callable[[str, dict[str, str]], Awaitable[bytes]]


RAWS = msgspec.json.Decoder(list[msgspec.Raw])


def windows(given: argparse.Namespace) -> Iterator[Request]:
    """Yield the requests for invoices."""
    last = given.first + timedelta(days=given.days - 1)
    for number in range(0, given.days, given.window):
        start = given.first + timedelta(days=number)
        end = min(start + timedelta(days=given.window - 1), last)
        days = {"start_date": start.isoformat(), "end_date": end.isoformat()}
        yield "/v1/ERP/invoices/clients", {"id_entity": "1", "language": "FR"} | days


@asynccontextmanager
async def session_of(given: argparse.Namespace) -> AsyncIterator[Ask]:
    """Yield the function that sends a request of a logged-in session."""
    connector = aiohttp.TCPConnector(limit=given.in_flight)
    async with aiohttp.ClientSession(connector=connector, read_bufsize=1 << 20) as session:
        async with session.post(f"{given.url}/v1/token", json=CREDENTIALS) as answer:
            bearer = {"Authorization": f"Bearer {(await answer.json())['access_token']}"}

        async def ask(path: str, query: dict[str, str]) -> bytes:
            async with session.get(given.url + path, params=query, headers=bearer) as answer:
                answer.raise_for_status()
                return await answer.read()

        yield ask


async def in_order(ask: Ask, wanted: Iterator[Request], most: int) -> AsyncIterator[bytes]:
    """Yield the response of each request in order, with at most `most` requests in flight."""
    open_requests: deque[asyncio.Future[bytes]] = deque()
    while True:
        while len(open_requests) < most and (request := next(wanted, None)):
            open_requests.append(asyncio.ensure_future(ask(*request)))
        if not open_requests:
            return
        yield await open_requests.popleft()


async def responses(given: argparse.Namespace) -> AsyncIterator[bytes]:
    """Yield each response."""
    async with session_of(given) as ask:
        requests = windows(given)
        if given.work == "contacts":
            query = {"filter": "ALL", "page_size": str(given.page_size)}
            first = await ask("/v1/CRM/contacts", query | {"page_number": "1"})
            yield first
            rest = range(2, ENVELOPE.decode(first).total_pages + 1)
            requests = (("/v1/CRM/contacts", query | {"page_number": str(n)}) for n in rest)
        async for body in in_order(ask, requests, given.in_flight):
            yield body


async def compare(given: argparse.Namespace) -> int:
    """Digest each row and look it up in the stored hashes; return the number of rows."""
    table, column = OURS[given.work]
    key = FIELDS[given.work][0]
    with psycopg.connect(given.database) as connection, connection.cursor(binary=True) as cursor:
        statement = f"select {key}, {column} from {table}".encode()  # noqa: S608 - names of this file
        stored: dict[Any, Any] = dict(cursor.execute(statement).fetchall())
    known, rows, splitter = {*stored.values()}, 0, Splitter(given.work)

    def unknown(body: bytes) -> tuple[int, int]:
        raws = RAWS.decode(splitter.array(body))
        digests = [hashlib.blake2b(raw, digest_size=16).digest() for raw in raws]
        return len(raws), sum(digest not in known for digest in digests)

    async for body in responses(given):
        found, _ = await asyncio.to_thread(unknown, body)
        rows += found
    return rows


async def load(given: argparse.Namespace) -> int:
    """Load everything; return the number of rows."""
    target, splitter = Target(given.work, given.database), Splitter(given.work)
    rows = staged = 0
    waiting: deque[Future[None]] = deque()

    def write(content: bytes, merging: bool) -> None:
        target.copy(content)
        if merging:
            target.merge()

    with ThreadPoolExecutor(1) as split, ThreadPoolExecutor(1) as other:
        thread = split if given.variant == "one" else other
        loop = asyncio.get_running_loop()
        async for body in responses(given):
            found, content = await loop.run_in_executor(split, splitter.csv, body)
            rows, staged = rows + found, staged + found
            merging = given.variant == "batches" and staged >= BATCH
            staged = 0 if merging else staged
            waiting.append(thread.submit(write, content, merging))
            if len(waiting) > AHEAD:
                await asyncio.wrap_future(waiting.popleft())
        thread.submit(target.merge)
    for each in waiting:
        each.result()
    target.close()
    return rows


async def fetch(given: argparse.Namespace) -> int:
    """Discard the responses; return the number of rows."""
    key = FIELDS[given.work][1].encode()
    return sum([body.count(b'"%b"' % key) async for body in responses(given)])


WORK = {"fetch": fetch, "compare": compare}


def main() -> None:
    """Measure one variant."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("work", choices=FIELDS)
    options.add_argument("url")
    options.add_argument("database")
    options.add_argument("--variant", default="two")
    options.add_argument("--first", type=date.fromisoformat, default=date(2025, 4, 1))
    options.add_argument("--days", type=int, default=365)
    options.add_argument("--window", type=int, default=7)
    options.add_argument("--page-size", type=int, default=100)
    options.add_argument("--in-flight", type=int, default=16)
    given = options.parse_args()
    started = time.perf_counter()
    rows = asyncio.run(WORK.get(given.variant, load)(given))
    seconds = time.perf_counter() - started
    status = Path("/proc/self/status").read_text()
    (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"seconds": seconds, "rows": rows, "peak": 1024 * int(peak)}))


if __name__ == "__main__":
    main()
