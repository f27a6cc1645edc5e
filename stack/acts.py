"""What `make demo` plays: for each act the DAG, what it is given, and the tables that tell of it."""

import csv
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

from stack import sample
from stack.launcher import Running
from stack.processes import StackError

DAYS = 7
COUNTS = ("inserted", "changed", "unchanged", "quarantined")
WORDS = {"entity", "days", "state", "currency", "reason", "city", "deleted", "why", "seen"}
SUMS = ("total_excl_vat", "total_vat", "total_incl_vat", "total_due")
EDITED, FLAGGED, REMOVED = 1003, 1006, 1009
"""Contacts of the sandbox that the demo changes."""


@dataclass(frozen=True)
class Act:
    """One DAG run of the demo: its conf, made ready before; what is shown of it afterwards."""

    dag_id: str
    conf: Callable[[Running], Mapping[str, Any]]
    tables: Callable[[Running, str], list[RenderableType]]
    occasion: str = ""
    """What tells it from another run of the same DAG."""
    writes: bool = False
    """Whether it puts something into the service, or changes what is there: the sandbox's alone."""

    @property
    def name(self) -> str:
        """What it is called while it runs."""
        return f"{self.dag_id}, {self.occasion}" if self.occasion else self.dag_id


def last_complete_days(today: date) -> dict[str, str]:
    """Return the last days that are over, both ends inclusive."""
    return {
        "start_date": (today - timedelta(days=DAYS)).isoformat(),
        "end_date": (today - timedelta(days=1)).isoformat(),
    }


def extraction_tables(running: Running, run_id: str) -> list[RenderableType]:
    """Return what an extraction read and changed, and its totals per currency."""
    return step_tables(summary(running, run_id))


def step_tables(steps: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """Return the same of the steps as `bms.run` holds them."""
    steps = sorted(steps, key=lambda row: (row["id_entity"], row["window_start"]))
    return [
        table(
            "Invoices",
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
            "Totals per currency",
            ("entity", "currency", "invoices", *(name.removeprefix("total_") for name in SUMS)),
            (
                (row["id_entity"], currency, sums["invoices"], *(_money(sums[s]) for s in SUMS))
                for row in steps
                for currency, sums in sorted(row["totals"].items())
            ),
        ),
    ]


def dropped_file(running: Running) -> dict[str, str]:
    """Drop the sample into the inbox, as a person would, and return its name."""
    inbox = _local(running) / "inbox" / "employees"
    inbox.mkdir(parents=True, exist_ok=True)
    (inbox / sample.NAME).write_bytes(sample.content(datetime.now(UTC).date()))
    return {"path": sample.NAME}


def onboarding_tables(running: Running, run_id: str) -> list[RenderableType]:
    """Return how the rows of a drop ended, and what the report says of some that were refused."""
    planned = running.api.xcom("employee_onboarding", run_id, "plan")
    ended = running.api.xcom("employee_onboarding", run_id, "conclude")
    title = f"Onboarding of {sample.NAME}: drop {ended['drop']}"
    if "report" not in ended:
        return [f"{title}: {planned['text']}."]
    folder = _local(running) / ended["report"]
    content = (folder / "rejected.csv").read_bytes().decode("cp1252")
    refused = list(csv.DictReader(content.splitlines(), delimiter=";"))[:4]
    states = ("created", "adopted", "already_there", "rejected", "needs_review", "waiting")
    return [
        table(title, states, [tuple(ended[state] for state in states)]),
        table(
            f"Refused, as {ended['report']}/rejected.csv says",
            ("line", "reason"),
            ((row["_line"], row["_reason_en"]) for row in refused),
        ),
    ]


def changed_contacts(running: Running) -> dict[str, Any]:
    """Change what people at work would: one edited, one flagged as deleted, one gone, one new."""
    for method, path, content in (
        ("PATCH", f"/{EDITED}", {"city": "Quimper"}),
        ("PATCH", f"/{FLAGGED}", {"deleted": True, "deleted_on": datetime.now(UTC).isoformat()}),
        ("DELETE", f"/{REMOVED}", None),
        ("POST", "", {"city": "Brest"}),
    ):
        address = f"{running.sandbox}/_sandbox/rows/contacts{path}"
        answer = httpx.request(method, address, json=content, timeout=10, trust_env=False)
        if answer.is_error:
            raise StackError(f"the sandbox refused {method} {path}: {answer.status_code}")
    return {}


def contact_tables(running: Running, run_id: str) -> list[RenderableType]:
    """Return what a sync of contacts read, wrote and asked for."""
    return mirror_tables(running.api.xcom("contact_sync", run_id, "sync"))


def mirror_tables(manifest: Mapping[str, Any]) -> list[RenderableType]:
    """Return the same of the manifest that the task leaves."""
    counts = ("rows_read", "inserted", "changed", "unchanged", "vanished")
    asked = ("list_calls", "details_read")
    row = tuple(manifest[name] for name in (*counts, *asked, "state"))
    head = ("read", "inserted", "changed", "unchanged", "gone", "list calls", "details", "state")
    return [table("Contacts", head, [row])]


def changed_contact_tables(running: Running, run_id: str) -> list[RenderableType]:
    """Return the same, and every version of the contacts that were changed."""
    query = (
        "select id, _version, city, deleted, _gone_reason, _observed_at::timestamptz(0)::text"
        " from bms.contact_version"
        " where id in (select id from bms.contact where _run_id = %s) order by 1, 2"
    )
    manifest = running.api.xcom("contact_sync", run_id, "sync")
    with psycopg.connect(running.warehouse) as connection:
        versions = connection.execute(query, [manifest["run_id"]]).fetchall()
    head = ("contact", "version", "city", "deleted", "why", "seen")
    return [*mirror_tables(manifest), table("Versions of those that changed", head, versions)]


ACTS = (
    Act(
        "invoice_extraction",
        lambda _: last_complete_days(datetime.now(UTC).date()),
        extraction_tables,
    ),
    Act("employee_onboarding", dropped_file, onboarding_tables, writes=True),
    Act("contact_sync", lambda _: {}, contact_tables),
    Act("contact_sync", lambda _: {}, contact_tables, "nothing changed"),
    Act("contact_sync", changed_contacts, changed_contact_tables, "four changed", writes=True),
)


def acts_for(running: Running) -> tuple[Act, ...]:
    """Return what may be played: in a service that isn't the sandbox, nothing is written."""
    return tuple(act for act in ACTS if running.sandbox or not act.writes)


def summary(running: Running, run_id: str) -> list[dict[str, Any]]:
    """Return what the warehouse knows of a run."""
    from bms_warehouse import database, queries  # noqa: PLC0415 - a second, when it is needed

    engine = database.connect(running.warehouse)
    try:
        with engine.connect() as connection:
            steps = queries.run_summary(connection, run_id)
    finally:
        engine.dispose()
    if not steps:
        raise StackError(f"the run {run_id} succeeded and left no line in bms.run")
    return steps


def table(title: str, columns: Sequence[str], rows: Iterable[tuple[object, ...]]) -> Table:
    """Return a table that fits a terminal of 80 columns."""
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE,
        padding=0,
        show_edge=False,
    )
    for column in columns:
        words = column in WORDS
        made.add_column(
            column.replace("_", " "),
            justify="left" if words else "right",
            no_wrap=column != "reason",
        )
    for row in rows:
        made.add_row(*("" if value is None else str(value) for value in row))
    return made


def _local(running: Running) -> Path:
    if not running.data_root.startswith("file://"):
        raise StackError(
            "the demo drops a file on this machine; run it without BMS_DATA_ROOT, or with file://…"
        )
    return Path(running.data_root.removeprefix("file://"))


def _days(row: Mapping[str, Any]) -> str:
    first, last = row["window_start"], row["window_end"]
    return f"{first}/{last:%m-%d}" if first else ""


def _money(amount: Decimal) -> str:
    """Return an amount with two decimals, or with all it has: nothing is rounded away."""
    exponent = amount.normalize().as_tuple().exponent
    return f"{amount:,.{max(2, -exponent) if isinstance(exponent, int) else 2}f}"
