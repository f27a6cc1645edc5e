"""Ceiling of an invoice load: fetch, decode, COPY and merge, without our code.

No checks, versions, raw responses, Parquet or retries. Prints seconds, rows and memory as JSON.
`--variant` selects the work:

fetch   discard the responses;
decode  also decode them into typed objects;
scan    also read all stored hashes, which an unchanged reload needs;
merge   decode, COPY and merge, batch by batch, in one transaction;
arrow   the same with Arrow columns;
once    the same, merged once at the end;
lanes   like `merge`, in two threads: one decodes while the other COPYs and merges.
"""

import argparse
import asyncio
import csv
import io
import json
import operator
import time
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import aiohttp
import msgspec
import psycopg
import pyarrow as pa
from pyarrow import csv as arrow_csv

NUMBER = {"id_invoice", "id_client", "id_account_manager", "created_by", "canceled_by"}
NUMBER |= {"id_credit", "sent_by"}
MONEY = {"total_excl_vat", "total_vat", "total_incl_vat", "total_due"}
FLAG = {"canceled", "sent"}
DAY = {"invoice_date", "due_date"}
MOMENT = {"created_on", "canceled_on", "sent_on"}
FIELDS = [
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
]


def _python(name: str) -> object:
    if name in NUMBER:
        return int | None
    if name in MONEY:
        return Decimal
    return bool | None if name in FLAG else str | None


def _sql(name: str) -> str:
    kinds = {
        "bigint": NUMBER,
        "numeric": MONEY,
        "boolean": FLAG,
        "date": DAY,
        "timestamptz": MOMENT,
    }
    return next((kind for kind, names in kinds.items() if name in names), "text")


Invoice = msgspec.defstruct(
    "Invoice",
    [(name, _python(name)) if name in MONEY else (name, _python(name), None) for name in FIELDS],
    gc=False,
    kw_only=True,
)
DECODER = msgspec.json.Decoder(list[Invoice], float_hook=Decimal)
NAMES = ", ".join(FIELDS)
BATCH = 20_000
AHEAD = 2
"""Answers between two threads."""


async def answers(
    url: str, first: date, days: int, window: int, in_flight: int
) -> AsyncIterator[bytes]:
    """Yield the responses in order, with limited requests in flight."""
    credentials = {
        "client_id": "demo-client",
        "application_id": "demo-application",
        "secret": "demo-secret",
    }
    last = first + timedelta(days=days - 1)
    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector, read_bufsize=1 << 20) as session:
        async with session.post(f"{url}/v1/token", json=credentials) as answer:
            bearer = {"Authorization": f"Bearer {(await answer.json())['access_token']}"}

        async def ask(start: date) -> bytes:
            query = {
                "id_entity": "1",
                "start_date": start.isoformat(),
                "end_date": min(start + timedelta(days=window - 1), last).isoformat(),
                "language": "FR",
            }
            address = f"{url}/v1/ERP/invoices/clients"
            async with session.get(address, params=query, headers=bearer) as answer:
                answer.raise_for_status()
                return await answer.read()

        starts = deque(first + timedelta(days=n) for n in range(0, days, window))
        under_way: deque[asyncio.Task[bytes]] = deque()
        while starts or under_way:
            while starts and len(under_way) < in_flight:
                under_way.append(asyncio.create_task(ask(starts.popleft())))
            yield await under_way.popleft()


def as_csv(rows: list[object]) -> bytes:
    """Write rows as PostgreSQL reads them, with Python's own csv module."""
    written = io.StringIO()
    csv.writer(written).writerows(map(operator.attrgetter(*FIELDS), rows))
    return written.getvalue().encode()


def as_csv_by_arrow(rows: list[object]) -> bytes:
    """Write rows as PostgreSQL reads them, column by column."""
    kinds = {"bigint": pa.int64(), "numeric": pa.decimal128(20, 2), "boolean": pa.bool_()}
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
                f"create table if not exists ceiling (id_entity bigint, {columns}, "
                "primary key (id_entity, id_invoice))".encode()
            )
            cursor.execute(f"create temporary table staging ({columns}) on commit drop".encode())

    def copy(self, content: bytes) -> None:
        """Fill the staging table."""
        statement = f"copy staging ({NAMES}) from stdin (format csv)".encode()
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(content)

    def merge(self) -> None:
        """Merge the staging table and empty it."""
        updates = ", ".join(f"{n} = excluded.{n}" for n in FIELDS if n != "id_invoice")
        with self._connection.cursor() as cursor:
            cursor.execute(
                f"insert into ceiling (id_entity, {NAMES}) select 1, {NAMES} from staging "  # noqa: S608 - names of this file
                f"on conflict (id_entity, id_invoice) do update set {updates}".encode()
            )
            cursor.execute(b"truncate staging")

    def close(self) -> None:
        """Commit."""
        self._connection.commit()
        self._connection.close()


def scan(uri: str) -> int:
    """Read the hashes of the warehouse."""
    query = b"select id_invoice, _row_hash from bms.client_invoice where id_entity = 1"
    with psycopg.connect(uri) as connection:
        return len(dict(connection.execute(query).fetchall()))


async def run(given: argparse.Namespace) -> int:
    """Do the work; return how many rows there were."""
    came = answers(given.url, given.first, given.days, given.window, given.in_flight)
    rows = 0
    if given.variant == "fetch":
        return sum([body.count(b'"id_invoice"') async for body in came])
    if given.variant in ("decode", "scan"):
        async for body in came:
            rows += len(await asyncio.to_thread(DECODER.decode, body))
        if given.variant == "scan":
            await asyncio.to_thread(scan, given.database)
        return rows
    target = Target(given.database)
    written = as_csv_by_arrow if given.variant == "arrow" else as_csv
    staged = 0

    def take(body: bytes) -> int:
        invoices = DECODER.decode(body)
        target.copy(written(invoices))
        return len(invoices)

    if given.variant == "lanes":
        return await by_two_threads(came, target)
    async for body in came:
        taken = await asyncio.to_thread(take, body)
        rows, staged = rows + taken, staged + taken
        if staged >= BATCH and given.variant != "once":
            await asyncio.to_thread(target.merge)
            staged = 0
    await asyncio.to_thread(target.merge)
    target.close()
    return rows


async def by_two_threads(came: AsyncIterator[bytes], target: Target) -> int:
    """Decode in one thread while another COPYs and merges, with two answers between them."""
    rows = staged = 0
    waiting: deque[Future[None]] = deque()

    def load(content: bytes, merging: bool) -> None:
        target.copy(content)
        if merging:
            target.merge()

    def decode(body: bytes) -> tuple[int, bytes]:
        invoices = DECODER.decode(body)
        return len(invoices), as_csv(invoices)

    with ThreadPoolExecutor(1) as thread:
        async for body in came:
            taken, content = await asyncio.to_thread(decode, body)
            rows, staged = rows + taken, staged + taken
            waiting.append(thread.submit(load, content, staged >= BATCH))
            staged = 0 if staged >= BATCH else staged
            if len(waiting) > AHEAD:
                await asyncio.wrap_future(waiting.popleft())
        thread.submit(target.merge)
    for each in waiting:
        each.result()
    target.close()
    return rows


def main() -> None:
    """Measure one variant."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("url")
    options.add_argument("database")
    options.add_argument("--variant", default="merge")
    options.add_argument("--first", type=date.fromisoformat, default=date(2025, 4, 1))
    options.add_argument("--days", type=int, default=365)
    options.add_argument("--window", type=int, default=7)
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
