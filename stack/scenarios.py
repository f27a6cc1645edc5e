"""Scenarios of `make demo`: for each the DAG, its input, and the tables that show its result."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import psycopg
from rich.box import SIMPLE
from rich.console import RenderableType
from rich.table import Table

from stack.launcher import Running
from stack.paths import CHECKOUT
from stack.processes import StackError

DAYS = 7
COUNTS = ("inserted", "changed", "unchanged", "quarantined")
SUMS = ("total_excl_vat", "total_vat", "total_incl_vat", "total_due")
LEFT_ALIGNED = {
    "entity",
    "days",
    "state",
    "currency",
    "reason",
    "city",
    "deleted",
    "removal reason",
    "observed at",
}
SAMPLE = CHECKOUT / "include" / "samples" / "nouveaux_salaries.csv"
EDITED, FLAGGED, REMOVED = 1003, 1006, 1009
"""Ids of the sandbox's contacts that the last scenario changes."""


@dataclass(frozen=True)
class Scenario:
    """One DAG run of the demo; `prepare` sets the scene and returns the run's conf."""

    dag_id: str
    title: str
    prepare: Callable[[Running], Mapping[str, Any]]
    tables: Callable[[Running, str], list[RenderableType]]
    variant: str = ""
    """Distinguishes several runs of the same DAG."""
    writes: bool = False
    """Whether it writes to the service, which is allowed for the sandbox only."""

    @property
    def name(self) -> str:
        """The name in the progress display and in the saved durations."""
        return f"{self.dag_id}, {self.variant}" if self.variant else self.dag_id


def last_complete_days(today: date) -> dict[str, str]:
    """Return the conf of an extraction of the last complete days, both ends inclusive."""
    return {
        "start_date": (today - timedelta(days=DAYS)).isoformat(),
        "end_date": (today - timedelta(days=1)).isoformat(),
    }


def invoice_tables(running: Running, run_id: str) -> list[RenderableType]:
    """Return the rows that an extraction read and wrote, and their totals per currency."""
    from bms_warehouse import database, queries  # noqa: PLC0415 - importing takes a second

    engine = database.connect(running.warehouse)
    try:
        with engine.connect() as connection:
            steps = queries.run_summary(connection, run_id)
    finally:
        engine.dispose()
    if not steps:
        raise StackError(f"The run {run_id} succeeded but recorded no step in the warehouse.")
    return step_tables(steps)


def step_tables(steps: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """Return the tables of an extraction from its recorded steps."""
    steps = sorted(steps, key=lambda row: (row["id_entity"], row["window_start"]))
    return [
        table(
            "Invoices read from the service, and what the load did with them",
            ("entity", "days", "read", *COUNTS, "state"),
            (
                (
                    row["id_entity"],
                    _days(row),
                    row["rows_read"],
                    *(row[c] for c in COUNTS),
                    row["state"],
                )
                for row in steps
            ),
        ),
        table(
            "Their totals per currency",
            ("entity", "currency", "invoices", *(name.removeprefix("total_") for name in SUMS)),
            (
                (row["id_entity"], currency, sums["invoices"], *(_money(sums[s]) for s in SUMS))
                for row in steps
                for currency, sums in sorted(row["totals"].items())
            ),
        ),
    ]


def drop_sample(running: Running) -> dict[str, str]:
    """Put the sample into the inbox, as HR would, and return the conf that names it."""
    inbox = _local_data(running) / "inbox" / "employees"
    inbox.mkdir(parents=True, exist_ok=True)
    (inbox / SAMPLE.name).write_bytes(sample_content(datetime.now(UTC).date()))
    return {"path": SAMPLE.name}


def sample_content(today: date) -> bytes:
    """Return the sample with its start dates, all in 2027, moved to the year after `today`'s.

    Start dates too far from the day of the drop would need an approval. Dates that are invalid on
    purpose stay invalid.
    """
    year = today.year + 1
    moved = re.sub(rb"(?<=/)2027(?=;)", str(year).encode(), SAMPLE.read_bytes())
    return re.sub(rb"(?<=/)27(?=;)", f"{year % 100:02d}".encode(), moved)


def onboarding_tables(running: Running, run_id: str) -> list[RenderableType]:
    """Return how the rows of the sample ended, and the reasons for some rejected ones."""
    planned = running.api.xcom("employee_onboarding", run_id, "plan")
    result = running.api.xcom("employee_onboarding", run_id, "conclude")
    drop = f"{SAMPLE.name} (drop {result['drop']})"
    if "report" not in result:
        return [f"{drop}: {planned['text']}."]
    content = (_local_data(running) / result["report"] / "rejected.csv").read_bytes()
    rejected = list(csv.DictReader(content.decode("cp1252").splitlines(), delimiter=";"))[:4]
    states = ("created", "adopted", "already_there", "rejected", "needs_review", "waiting")
    return [
        table(f"Outcome of the rows of {drop}", states, [tuple(result[state] for state in states)]),
        table(
            f"The first rejected rows of {result['report']}/rejected.csv",
            ("line", "reason"),
            ((row["_line"], row["_reason_en"]) for row in rejected),
        ),
    ]


def change_contacts(running: Running) -> dict[str, Any]:
    """Edit a contact in the sandbox, flag another as deleted, remove a third and add one."""
    for method, path, content in (
        ("PATCH", f"/{EDITED}", {"city": "Quimper"}),
        ("PATCH", f"/{FLAGGED}", {"deleted": True, "deleted_on": datetime.now(UTC).isoformat()}),
        ("DELETE", f"/{REMOVED}", None),
        ("POST", "", {"city": "Brest"}),
    ):
        url = f"{running.sandbox}/_sandbox/rows/contacts{path}"
        response = httpx.request(method, url, json=content, timeout=10, trust_env=False)
        if response.is_error:
            raise StackError(f"The sandbox rejected {method} {path}: {response.status_code}")
    return {}


def contact_tables(running: Running, run_id: str) -> list[RenderableType]:
    """Return what a contact sync read, wrote and requested."""
    return mirror_tables(running.api.xcom("contact_sync", run_id, "sync"))


def mirror_tables(manifest: Mapping[str, Any]) -> list[RenderableType]:
    """Return the tables of a contact sync from the manifest that its task returned."""
    counts = ("rows_read", "inserted", "changed", "unchanged", "missing")
    requests = ("list_calls", "details_read")
    row = tuple(manifest[name] for name in (*counts, *requests, "state"))
    columns = ("read", *counts[1:4], "removed", "list requests", "detail requests", "state")
    return [table("Contacts read, rows written, and requests sent to the service", columns, [row])]


def changed_contact_tables(running: Running, run_id: str) -> list[RenderableType]:
    """Return the tables of a contact sync, and all versions of the contacts that it changed."""
    query = (
        "select id, _version, city, deleted, _removal_reason, _observed_at::timestamptz(0)::text"
        " from bms.contact_version"
        " where id in (select id from bms.contact where _step_run_id = %s) order by 1, 2"
    )
    manifest = running.api.xcom("contact_sync", run_id, "sync")
    with psycopg.connect(running.warehouse) as connection:
        versions = connection.execute(query, [manifest["step_run_id"]]).fetchall()
    columns = ("contact", "version", "city", "deleted", "removal reason", "observed at")
    return [
        *mirror_tables(manifest),
        table("Stored versions of the contacts that changed", columns, versions),
    ]


SCENARIOS = (
    Scenario(
        "invoice_extraction",
        f"Extract the invoices of the last {DAYS} complete days",
        lambda _: last_complete_days(datetime.now(UTC).date()),
        invoice_tables,
    ),
    Scenario(
        "employee_onboarding",
        "Create employees from a file dropped into the inbox; some of its rows are invalid on purpose",
        drop_sample,
        onboarding_tables,
        writes=True,
    ),
    Scenario("contact_sync", "Sync the contacts into the warehouse", lambda _: {}, contact_tables),
    Scenario(
        "contact_sync",
        "Sync the contacts again, none of them changed",
        lambda _: {},
        contact_tables,
        "nothing changed",
    ),
    Scenario(
        "contact_sync",
        "Sync again after one contact was edited, one flagged as deleted, one removed, one added",
        change_contacts,
        changed_contact_tables,
        "four changed",
        writes=True,
    ),
)


def scenarios_for(running: Running) -> tuple[Scenario, ...]:
    """Return all scenarios for the sandbox, only those that do not write for another service."""
    return tuple(scenario for scenario in SCENARIOS if running.sandbox or not scenario.writes)


def table(title: str, columns: Sequence[str], rows: Iterable[tuple[object, ...]]) -> Table:
    """Return a table for a terminal of 80 columns."""
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE,
        padding=0,
        show_edge=False,
    )
    for column in columns:
        made.add_column(
            column.replace("_", " "),
            justify="left" if column in LEFT_ALIGNED else "right",
            no_wrap=column != "reason",
        )
    for row in rows:
        made.add_row(*("" if value is None else str(value) for value in row))
    return made


def _local_data(running: Running) -> Path:
    if not running.data_root.startswith("file://"):
        raise StackError(
            "The demo drops a file into a folder of this machine, but BMS_DATA_ROOT is "
            f"{running.data_root}. Unset it, or set it to file://…"
        )
    return Path(running.data_root.removeprefix("file://"))


def _days(row: Mapping[str, Any]) -> str:
    first, last = row["window_start"], row["window_end"]
    return f"{first}/{last:%m-%d}" if first else ""


def _money(amount: Decimal) -> str:
    """Return an amount with at least two decimals, never rounded."""
    exponent = amount.normalize().as_tuple().exponent
    return f"{amount:,.{max(2, -exponent) if isinstance(exponent, int) else 2}f}"
