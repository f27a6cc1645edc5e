"""dlt, write disposition merge by upsert, into its PostgreSQL destination.

arrow  threads of our own send the requests, orjson decodes, dlt gets Arrow tables; Parquet and ADBC's
       binary COPY (a third faster than CSV here);
tuned  dlt's REST source with the options of its page on performance: parallel requests, large buffers,
       workers, CSV and COPY, no nested tables.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import dlt
import orjson
import pyarrow as pa
import requests
from dlt.destinations import postgres
from dlt.destinations.impl.postgres.configuration import PostgresCredentials
from dlt.sources.rest_api import rest_api_source
from task import SCHEMA, Task, given, timed

QUIET = {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}
TUNED = {
    "EXTRACT__WORKERS": "16",
    "EXTRACT__MAX_PARALLEL_ITEMS": "32",
    "DATA_WRITER__BUFFER_MAX_ITEMS": "20000",
    "SOURCES__DATA_WRITER__FILE_MAX_ITEMS": "50000",  # several files, for the workers below
    "NORMALIZE__WORKERS": str(os.cpu_count()),
}
FORMATS: dict[str, Any] = {"arrow": "parquet", "tuned": "csv"}
BATCH = 20_000
UPSERT = {"disposition": "merge", "strategy": "upsert"}


def asked(task: Task) -> Iterator[dict[str, str]]:
    """Yield the query of each request."""
    if task.work == "invoices":
        yield from task.windows()
        return
    headers = {"Authorization": f"Bearer {task.token()}"}
    answer = requests.get(f"{task.url}/{task.path}", task.page(1), headers=headers, timeout=60)
    answer.raise_for_status()
    yield from (task.page(number) for number in range(1, answer.json()["total_pages"] + 1))


def tuned(task: Task) -> Any:
    """Return the REST source; each query is a child of a list of queries, so that requests run in parallel."""
    queries = list(asked(task))

    def singly() -> Iterator[list[dict[str, str]]]:
        for query in queries:
            yield [query]

    endpoint = {
        "path": task.path,
        "data_selector": "data" if task.work == "contacts" else "$",
        "params": {name: f"{{resources.queries.{name}}}" for name in queries[0]},
        "paginator": "single_page",
    }
    rows = {
        "name": task.table,
        "primary_key": task.fields[0],
        "write_disposition": UPSERT,
        "endpoint": endpoint,
        "parallelized": True,
        "max_table_nesting": 0,
    }
    client = {"base_url": task.url, "auth": {"type": "bearer", "token": task.token()}}
    resources = [dlt.resource(singly, name="queries", selected=False), rows]
    source: dict[str, Any] = {"client": client, "resources": resources}
    return rest_api_source(source)  # type: ignore[arg-type]  # a dictionary, as in dlt's documentation


def arrow(task: Task) -> Any:
    """Return a resource of Arrow tables with `rows` rows each, requested by several threads."""
    session = requests.Session()
    session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=task.in_flight))
    session.headers["Authorization"] = f"Bearer {task.token()}"

    def rows(query: dict[str, str]) -> list[dict[str, Any]]:
        answer = session.get(f"{task.url}/{task.path}", params=query)
        answer.raise_for_status()
        found = orjson.loads(answer.content)
        return found if task.work == "invoices" else found["data"]  # type: ignore[no-any-return]  # as served

    def tables() -> Iterator[pa.Table]:
        waiting: list[dict[str, Any]] = []
        schema = None
        with ThreadPoolExecutor(task.in_flight) as threads:
            for found in threads.map(rows, asked(task)):
                waiting += found
                if len(waiting) >= BATCH:
                    table = pa.Table.from_pylist(waiting, schema)
                    schema = table.schema
                    yield table
                    waiting = []
        if waiting:
            yield pa.Table.from_pylist(waiting, schema)

    return dlt.resource(
        tables(), name=task.table, primary_key=task.fields[0], write_disposition=UPSERT
    )


def credentials(task: Task) -> PostgresCredentials:
    """Return the database's address by field: dlt always requires a host and a password."""
    uri = urlsplit(task.database)
    query = parse_qs(uri.query)
    found = PostgresCredentials()
    found.database, found.username = uri.path.removeprefix("/"), uri.username
    found.host, found.port = quote(query["host"][0], safe=""), int(query["port"][0])
    found.password = "unused"  # noqa: S105 - the socket's permissions protect the database
    return found


def load(task: Task) -> None:
    """Load once."""
    pipeline = dlt.pipeline(
        f"bms_{task.work}_{task.variant}",
        pipelines_dir=task.folder,
        destination=postgres(credentials(task)),
        dataset_name=SCHEMA,
    )
    source = tuned(task) if task.variant == "tuned" else arrow(task)
    pipeline.run(source, loader_file_format=FORMATS[task.variant])


if __name__ == "__main__":
    task = given()
    options = TUNED if task.variant == "tuned" else {}
    os.environ |= {"DLT_DATA_DIR": task.folder} | QUIET | options
    timed(lambda: load(task))
