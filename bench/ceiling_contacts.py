"""Ceiling of a sync of contacts: the same requests and nothing else, without our code.

Reads the whole list twice, with pages of two sizes, and the list of assigned contacts once, like a
sync. No agreement, comparison, versions, raw responses or retries. Prints seconds, rows and memory
as JSON. `--variant` selects the work:

fetch    discard the responses;
decode   also decode them into typed objects;
scan     also read all stored hashes, which an unchanged sync needs;
merge    COPY and merge the first reading, batch by batch, in one transaction;
arrow    the same with Arrow columns;
once     the same, merged once at the end;
details  read the given number of details instead of lists, and discard them.
"""

import argparse
import asyncio
import csv
import io
import json
import operator
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import msgspec
import psycopg
import pyarrow as pa
from pyarrow import csv as arrow_csv

NUMBER = {"id", "id_client", "id_account_manager", "created_by", "modified_by", "deleted_by"}
FLAG = {"exclude_from_emailing", "send_greetings_card", "is_lead", "actif", "deleted"}
MOMENT = {"created_on", "modified_on", "deleted_on"}
FIELDS = [
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
]
FIRST_ID = 1001
CREDENTIALS = {
    "client_id": "demo-client",
    "application_id": "demo-application",
    "secret": "demo-secret",
}


def _python(name: str) -> object:
    if name in NUMBER:
        return int | None
    return bool | None if name in FLAG else str | None


def _sql(name: str) -> str:
    kinds = {"bigint": NUMBER, "boolean": FLAG, "timestamptz": MOMENT}
    return next((kind for kind, names in kinds.items() if name in names), "text")


Contact = msgspec.defstruct(
    "Contact", [(name, _python(name), None) for name in FIELDS], gc=False, kw_only=True
)


class Page(msgspec.Struct):
    """The paged list envelope."""

    total_pages: int
    data: list[Contact]  # type: ignore[valid-type]  # a type made at run time


class Total(msgspec.Struct):
    """The same without its rows."""

    total_pages: int


DECODER = msgspec.json.Decoder(Page)
TOTAL = msgspec.json.Decoder(Total)
NAMES = ", ".join(FIELDS)
BATCH = 20_000


async def answers(given: argparse.Namespace) -> AsyncIterator[tuple[int, bytes]]:
    """Yield each response with the number of its reading, with limited requests in flight."""
    connector = aiohttp.TCPConnector(limit=given.in_flight)
    async with aiohttp.ClientSession(connector=connector, read_bufsize=1 << 20) as session:
        async with session.post(f"{given.url}/v1/token", json=CREDENTIALS) as answer:
            bearer = {"Authorization": f"Bearer {(await answer.json())['access_token']}"}

        async def ask(path: str, query: dict[str, str]) -> bytes:
            async with session.get(given.url + path, params=query, headers=bearer) as answer:
                answer.raise_for_status()
                return await answer.read()

        async def each(wanted: Iterator[tuple[str, dict[str, str]]]) -> AsyncIterator[bytes]:
            under_way: deque[asyncio.Task[bytes]] = deque()
            while True:
                while len(under_way) < given.in_flight and (question := next(wanted, None)):
                    under_way.append(asyncio.create_task(ask(*question)))
                if not under_way:
                    return
                yield await under_way.popleft()

        if given.variant == "details":
            ids = range(FIRST_ID, FIRST_ID + given.details)
            async for body in each((f"/v1/CRM/contacts/{key}", {}) for key in ids):
                yield 0, body
            return
        readings = [("ALL", given.page_size), ("ALL", given.page_size - 1)]
        for number, (state, size) in enumerate([*readings, ("ASSIGNED", given.page_size)]):
            question = {"filter": state, "page_size": str(size)}
            first = await ask("/v1/CRM/contacts", question | {"page_number": "1"})
            yield number, first
            rest = range(2, TOTAL.decode(first).total_pages + 1)
            pages = (("/v1/CRM/contacts", question | {"page_number": str(n)}) for n in rest)
            async for body in each(pages):
                yield number, body


def as_csv(rows: list[object]) -> bytes:
    """Write rows as PostgreSQL reads them, with Python's own csv module."""
    written = io.StringIO()
    csv.writer(written).writerows(map(operator.attrgetter(*FIELDS), rows))
    return written.getvalue().encode()


def as_csv_by_arrow(rows: list[object]) -> bytes:
    """Write rows as PostgreSQL reads them, column by column."""
    kinds = {"bigint": pa.int64(), "boolean": pa.bool_()}
    columns = [
        pa.array(list(map(operator.attrgetter(name), rows)), kinds.get(_sql(name), pa.string()))
        for name in FIELDS
    ]
    written = io.BytesIO()
    table = pa.table(columns, names=FIELDS)
    arrow_csv.write_csv(table, written, arrow_csv.WriteOptions(include_header=False))
    return written.getvalue()


class Target:
    """A separate table, filled by COPY and merge in one transaction."""

    def __init__(self, uri: str) -> None:
        self._connection = psycopg.connect(uri, options="-c timezone=Europe/Paris")
        columns = ", ".join(f"{name} {_sql(name)}" for name in FIELDS)
        with self._connection.cursor() as cursor:
            cursor.execute(
                f"create table if not exists ceiling ({columns}, primary key (id))".encode()
            )
            cursor.execute(f"create temporary table staging ({columns}) on commit drop".encode())

    def copy(self, content: bytes) -> None:
        """Fill the staging table."""
        statement = f"copy staging ({NAMES}) from stdin (format csv)".encode()
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(content)

    def merge(self) -> None:
        """Merge the staging table and empty it."""
        updates = ", ".join(f"{n} = excluded.{n}" for n in FIELDS if n != "id")
        with self._connection.cursor() as cursor:
            cursor.execute(
                f"insert into ceiling ({NAMES}) select {NAMES} from staging "  # noqa: S608 - names of this file
                f"on conflict (id) do update set {updates}".encode()
            )
            cursor.execute(b"truncate staging")

    def close(self) -> None:
        """Commit."""
        self._connection.commit()
        self._connection.close()


def scan(uri: str) -> int:
    """Read the hashes of the warehouse."""
    query = b"select id, _list_hash, _row_hash from bms.contact"
    with psycopg.connect(uri) as connection, connection.cursor(binary=True) as cursor:
        return len({row[0]: row for row in cursor.execute(query).fetchall()})


async def run(given: argparse.Namespace) -> int:
    """Do the work; return how many rows there were."""
    came = answers(given)
    if given.variant in ("fetch", "details"):
        return sum([body.count(b'"first_name"') async for _, body in came])
    rows = 0
    if given.variant in ("decode", "scan"):
        async for _, body in came:
            rows += len(DECODER.decode(body).data)
        if given.variant == "scan":
            await asyncio.to_thread(scan, given.database)
        return rows
    target = Target(given.database)
    written = as_csv_by_arrow if given.variant == "arrow" else as_csv
    waiting: list[object] = []
    staged = 0

    def take() -> None:
        target.copy(written(waiting))
        waiting.clear()

    async for reading, body in came:
        contacts = DECODER.decode(body).data
        rows += len(contacts)
        if reading == 0:
            waiting += contacts
            staged += len(contacts)
        if len(waiting) >= given.copy_rows:
            await asyncio.to_thread(take)
        if staged >= BATCH and given.variant != "once":
            await asyncio.to_thread(target.merge)
            staged = 0
    await asyncio.to_thread(take)
    await asyncio.to_thread(target.merge)
    target.close()
    return rows


def main() -> None:
    """Measure one variant."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("url")
    options.add_argument("database")
    options.add_argument("--variant", default="merge")
    options.add_argument("--page-size", type=int, default=100)
    options.add_argument("--details", type=int, default=10_000)
    options.add_argument("--copy-rows", type=int, default=2_000)
    options.add_argument("--in-flight", type=int, default=16)
    given = options.parse_args()
    started, worked = time.perf_counter(), time.process_time()
    rows = asyncio.run(run(given))
    seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    status = Path("/proc/self/status").read_text()
    (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"seconds": seconds, "cpu": cpu, "rows": rows, "peak": 1024 * int(peak)}))


if __name__ == "__main__":
    main()
