r"""Ceiling of a load: the same requests, COPY and one merge in one transaction, without our code.

No checks, versions, raw responses, Parquet or retries. The JSON values go to COPY as they are:
PostgreSQL's CSV reads quoted strings and bare numbers, and only rows with other escapes than `\"`
and `\\` are decoded. Prints seconds, rows and memory as JSON. `--variant` selects the work:

fetch    discard the responses;
details  read details of contacts instead of the list, and discard them;
compare  split the responses into rows, digest each row, look its key up in the stored hashes;
one      split, COPY and merge in one thread beside the event loop;
two      split in one thread, COPY and merge in another;
batches  like `two`, merged every 20,000 rows.

Contacts: `--readings` 1 reads the list once; 2 reads it twice with pages of two sizes, and the
assigned contacts once more, like a sync; only the first reading is loaded.
"""

import argparse
import asyncio
import hashlib
import json
import operator
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

TYPES = {
    "bigint": "id_invoice id_client id_account_manager created_by canceled_by id_credit sent_by "
    "id modified_by deleted_by",
    "numeric": "total_excl_vat total_vat total_incl_vat total_due",
    "boolean": "canceled sent exclude_from_emailing send_greetings_card is_lead actif deleted",
    "date": "invoice_date due_date",
    "timestamptz": "created_on canceled_on sent_on modified_on deleted_on",
}
FIELDS = {
    "invoices": [
        "id_invoice",
        "reference_number",
        "invoice_date",
        "due_date",
        "invoice_type",
        "invoice_type_name",
        "id_client",
        "client_name",
        "po_number",
        "vat_number",
        "invoice_subject",
        "total_excl_vat",
        "total_vat",
        "total_incl_vat",
        "total_due",
        "currency",
        "payment_mode",
        "payment_mode_name",
        "status",
        "status_name",
        "id_account_manager",
        "created_on",
        "created_by",
        "canceled",
        "canceled_on",
        "canceled_by",
        "id_credit",
        "sent",
        "sent_on",
        "sent_by",
    ],
    "contacts": [
        "id",
        "first_name",
        "last_name",
        "business_title",
        "email",
        "phone_mobile_number",
        "postal_code",
        "city",
        "country",
        "exclude_from_emailing",
        "send_greetings_card",
        "is_lead",
        "origin",
        "signal",
        "imported_company_name",
        "id_client",
        "id_account_manager",
        "actif",
        "deleted",
        "created_on",
        "created_by",
        "modified_on",
        "modified_by",
        "deleted_on",
        "deleted_by",
    ],
}
OURS = {
    "invoices": ("bms.client_invoice", "_row_hash"),
    "contacts": ("bms.contact", "_list_hash"),
}
CREDENTIALS = {
    "client_id": "demo-client",
    "application_id": "demo-application",
    "secret": "demo-secret",
}
FIRST_ID = 1001
BATCH = 20_000
AHEAD = 4
"""Responses between two threads."""

Request = tuple[str, dict[str, str]]
Ask = Callable[[str, dict[str, str]], Awaitable[bytes]]


class Envelope(msgspec.Struct):
    """The paged list envelope."""

    total_pages: int
    data: msgspec.Raw = msgspec.Raw(b"[]")


ENVELOPE = msgspec.json.Decoder(Envelope)
RAWS = msgspec.json.Decoder(list[msgspec.Raw])


def sql_type(name: str) -> str:
    """Return the column type of a field."""
    return next((kind for kind, names in TYPES.items() if name in names.split()), "text")


def windows(given: argparse.Namespace) -> Iterator[Request]:
    """Yield the requests for invoices."""
    last = given.first + timedelta(days=given.days - 1)
    for number in range(0, given.days, given.window):
        start = given.first + timedelta(days=number)
        end = min(start + timedelta(days=given.window - 1), last)
        days = {"start_date": start.isoformat(), "end_date": end.isoformat()}
        yield "/v1/ERP/invoices/clients", {"id_entity": "1", "language": "FR"} | days


def details(given: argparse.Namespace) -> Iterator[Request]:
    """Yield the requests for details of contacts."""
    return ((f"/v1/CRM/contacts/{FIRST_ID + n}", {}) for n in range(given.details))


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


async def responses(given: argparse.Namespace) -> AsyncIterator[tuple[int, bytes]]:
    """Yield each response with the number of its reading, from 0."""
    async with session_of(given) as ask:
        if given.work == "invoices" or given.variant == "details":
            wanted = details(given) if given.variant == "details" else windows(given)
            async for body in in_order(ask, wanted, given.in_flight):
                yield 0, body
            return
        readings = [("ALL", given.page_size), ("ALL", given.page_size - 1)]
        readings.append(("ASSIGNED", given.page_size))
        for number, (state, size) in enumerate(readings[: 1 if given.readings == 1 else 3]):
            query = {"filter": state, "page_size": str(size)}
            first = await ask("/v1/CRM/contacts", query | {"page_number": "1"})
            yield number, first
            rest = range(2, ENVELOPE.decode(first).total_pages + 1)
            pages = (("/v1/CRM/contacts", query | {"page_number": str(n)}) for n in rest)
            async for body in in_order(ask, pages, given.in_flight):
                yield number, body


class Splitter:
    """Splits responses into rows, and rows into JSON values, without decoding the values."""

    def __init__(self, work: str) -> None:
        self._paged = work == "contacts"
        names = FIELDS[work]
        absent = msgspec.Raw(b"null")
        row: Any = msgspec.defstruct("Row", [(n, msgspec.Raw, absent) for n in names], gc=False)
        self._rows = msgspec.json.Decoder(list[row])
        self._values = operator.attrgetter(*names)

    def array(self, body: bytes) -> Any:
        """Return the JSON array of rows in a response."""
        return ENVELOPE.decode(body).data if self._paged else body

    def csv(self, body: bytes) -> tuple[int, bytes]:
        """Return the number of rows, and the rows for COPY."""
        rows = self._rows.decode(self.array(body))
        lines = b"\n".join([b",".join(self._values(row)) for row in rows])
        if b"\\" in lines.replace(b"\\\\", b"").replace(b'\\"', b""):
            lines = b"\n".join([self._decoded(row) for row in rows])
        return len(rows), lines + b"\n" if rows else b""

    def _decoded(self, row: Any) -> bytes:
        """Return a row with its escapes resolved."""
        return b",".join(map(_for_csv, self._values(row)))


def _for_csv(value: msgspec.Raw) -> bytes:
    """Return a JSON value for COPY, with the escapes of a text resolved."""
    raw = bytes(value)
    if not raw.startswith(b'"'):
        return raw
    text = msgspec.json.decode(raw).replace("\\", "\\\\").replace('"', '\\"')
    return b'"%b"' % text.encode()


class Target:
    """A separate table, filled by COPY and merge in one transaction."""

    def __init__(self, work: str, uri: str) -> None:
        self._connection = psycopg.connect(uri, options="-c timezone=Europe/Paris")
        fields = FIELDS[work]
        columns, self._names = ", ".join(f"{n} {sql_type(n)}" for n in fields), ", ".join(fields)
        entity, self._entity = ("id_entity bigint, ", "1, ") if work == "invoices" else ("", "")
        self._key = f"id_entity, {fields[0]}" if entity else fields[0]
        self._updates = ", ".join(f"{n} = excluded.{n}" for n in fields[1:])
        self._execute(
            f"create table if not exists ceiling ({entity}{columns}, primary key ({self._key}))"
        )
        self._execute(f"create temporary table staging ({columns}) on commit drop")

    def copy(self, content: bytes) -> None:
        """Fill the staging table."""
        options = "format csv, quote '\"', escape '\\', null 'null'"
        statement = f"copy staging ({self._names}) from stdin with ({options})".encode()
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(content)

    def merge(self) -> None:
        """Merge the staging table and empty it."""
        into = f"{'id_entity, ' if self._entity else ''}{self._names}"
        self._execute(
            f"insert into ceiling ({into}) select {self._entity}{self._names} from staging "  # noqa: S608 - names of this file
            f"on conflict ({self._key}) do update set {self._updates}"
        )
        self._execute("truncate staging")

    def close(self) -> None:
        """Commit."""
        self._connection.commit()
        self._connection.close()

    def _execute(self, statement: str) -> None:
        self._connection.execute(statement.encode())


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

    async for reading, body in responses(given):
        found, _ = await asyncio.to_thread(unknown, body)
        rows += found if reading == 0 else 0
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
        async for reading, body in responses(given):
            found, content = await loop.run_in_executor(split, splitter.csv, body)
            if reading:
                continue
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
    return sum([body.count(b'"%b"' % key) async for _, body in responses(given)])


WORK = {"fetch": fetch, "details": fetch, "compare": compare}


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
    options.add_argument("--readings", type=int, default=1)
    options.add_argument("--details", type=int, default=10_000)
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
