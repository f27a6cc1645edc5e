"""Scenarios of `make demo`: for each the DAG, its input, and the report of its result."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from stack import proofs
from stack.launcher import Running
from stack.paths import CHECKOUT
from stack.processes import StackError

DAYS = 7
WEEK = {"start_date": "2026-03-02", "end_date": "2026-03-08"}
"""Days of which the sandbox always has the same invoices."""
SAMPLE = CHECKOUT / "include" / "samples" / "nouveaux_salaries.csv"
SAMPLE_NUMBERS = re.compile(rb"(?<![0-9])00(?=90[0-9]{2};)")
"""The first digits of the sample's payroll numbers, which are 009001 to 009025."""
EDITED, FLAGGED, REMOVED = 1003, 1006, 1009
"""Ids of the sandbox's contacts that the last scenario changes."""


@dataclass(frozen=True)
class Report:
    """The result of a scenario for a reader."""

    outcome: str
    """What the run did, in figures."""
    meaning: tuple[str, ...] = ()
    """What the figures mean, one line each."""
    proof: tuple[str, str] | None = None
    """What the comparison with the sandbox's own records proved: subject and finding."""


@dataclass(frozen=True)
class Scenario:
    """One DAG run of the demo; `prepare` sets the scene and returns the run's conf."""

    dag_id: str
    title: str
    prepare: Callable[[Running], Mapping[str, Any]]
    report: Callable[[Running, str], Report]
    after: str = ""
    """Title of the scenario that must end first; scenarios without one start at once."""
    writes: bool = False
    """Whether it writes to the service, which is allowed for the sandbox only."""


def last_complete_days(today: date) -> dict[str, str]:
    """Return the conf of an extraction of the last complete days, both ends inclusive."""
    return {
        "start_date": (today - timedelta(days=DAYS)).isoformat(),
        "end_date": (today - timedelta(days=1)).isoformat(),
    }


def invoices(running: Running, run_id: str) -> Report:
    """Return what an extraction read and wrote, compared with the sandbox's invoices."""
    from bms_warehouse import database  # noqa: PLC0415 - importing takes a second
    from bms_warehouse.queries.records import run_summary  # noqa: PLC0415

    engine = database.connect(running.warehouse)
    try:
        with engine.connect() as connection:
            steps = run_summary(connection, run_id)
    finally:
        engine.dispose()
    if not steps:
        raise StackError(f"The run {run_id} succeeded but recorded no step in the warehouse.")
    return Report(
        extraction_outcome(steps),
        ("The warehouse has each invoice once. A repeated run writes only what changed.",),
        proofs.amounts(running, steps) if running.sandbox else None,
    )


def extraction_outcome(steps: list[dict[str, Any]]) -> str:
    """Return the figures of an extraction from its recorded steps."""
    read = sum(step["rows_read"] for step in steps)
    entities = len({step["id_entity"] for step in steps})
    counts = ("inserted", "changed", "unchanged", "quarantined")
    sums = {name: sum(step[name] for step in steps) for name in counts}
    return f"{read} read for {DAYS} days and {entities} entities: {_counts(sums)}."


def drop_sample(running: Running) -> dict[str, str]:
    """Put the sample into the inbox, as HR would, and return the conf that names it.

    The sandbox loses the response to one create.
    """
    inbox = _local_data(running) / "inbox" / "employees"
    inbox.mkdir(parents=True, exist_ok=True)
    content = sample_content(datetime.now(UTC).date(), proofs.earlier_drops(running))
    (inbox / SAMPLE.name).write_bytes(content)
    if running.sandbox:
        proofs.control(running).set_fault(proofs.LOST, "create_employee", count=1, after=3)
    return {"path": SAMPLE.name}


def sample_content(today: date, earlier: int) -> bytes:
    """Return the sample with start dates in the year after `today`'s and unused payroll numbers.

    The sample's start dates are in 2027; a date too far from the day of the drop would need an
    approval. Dates that are invalid on purpose stay invalid. The sandbox forgets its employees when
    it stops, the ledger doesn't: each of the `earlier` drops used up its numbers.
    """
    year = today.year + 1
    moved = re.sub(rb"(?<=/)2027(?=;)", str(year).encode(), SAMPLE.read_bytes())
    moved = re.sub(rb"(?<=/)27(?=;)", f"{year % 100:02d}".encode(), moved)
    return SAMPLE_NUMBERS.sub(f"{earlier + 1:02d}".encode(), moved)


def employees(running: Running, run_id: str) -> Report:
    """Return how the rows of the sample ended, compared with the employees that the sandbox has."""
    result = running.api.xcom("employee_onboarding", run_id, "conclude")
    if "report" not in result:
        plan = running.api.xcom("employee_onboarding", run_id, "plan")
        raise StackError(f"{SAMPLE.name} was not processed: {plan['text']}.")
    return Report(
        drop_outcome(result),
        (
            "A response was lost; the run found the employee and adopted it. Over half of the rows",
            "are wrong on purpose, so the plan needed an approval.",
        ),
        proofs.lost_response(running, result["created"] + result["adopted"]),
    )


def drop_outcome(result: Mapping[str, Any]) -> str:
    """Return the figures of a drop from the counts of its rows by state."""
    states = ("created", "adopted", "already_there", "rejected", "needs_review", "waiting")
    counts = {state.replace("_", " "): result[state] for state in states}
    return f"{sum(counts.values())} rows of a file: {_counts(counts)}."


def move_contacts(running: Running) -> dict[str, Any]:
    """Let the sandbox delete a contact between two pages of the list, so that others move up.

    The run first reads the list of contacts with an account manager, whose second page is skipped.
    """
    if running.sandbox:
        proofs.control(running).set_fault(proofs.MOVED, "list_contacts", count=1, after=1)
    return {}


def contacts(running: Running, run_id: str) -> Report:
    """Return what the first contact sync read and wrote, compared with the sandbox's contacts."""
    manifest = running.api.xcom("contact_sync", run_id, "sync")
    if not running.sandbox:
        return Report(sync_outcome(manifest))
    return Report(
        sync_outcome(manifest),
        ("A contact moved to a page that was read before; the second pass found it.",),
        proofs.moved_contacts(running),
    )


def change_contacts(running: Running) -> dict[str, Any]:
    """Edit a contact in the sandbox, flag another as deleted, remove a third and add one."""
    sandbox = proofs.control(running)
    sandbox.edit("contacts", EDITED, city="Quimper")
    sandbox.edit("contacts", FLAGGED, deleted=True, deleted_on=datetime.now(UTC).isoformat())
    sandbox.delete("contacts", REMOVED)
    sandbox.insert("contacts", city="Brest")
    return {}


def changed_contacts(running: Running, run_id: str) -> Report:
    """Return what the second contact sync read and wrote."""
    return Report(
        sync_outcome(running.api.xcom("contact_sync", run_id, "sync")),
        ("Each change is a version; the warehouse removes no row.",),
    )


def sync_outcome(manifest: Mapping[str, Any]) -> str:
    """Return the figures of a sync from the manifest that its task returned."""
    counts = {name: manifest[name] for name in ("inserted", "changed", "unchanged")}
    counts["deleted"] = manifest["missing"]
    read = f"{manifest['rows_read']} in the list, {manifest['details_read']} read in detail"
    state = "" if manifest["state"] == "complete" else f" State: {manifest['state']}."
    return f"{read}: {_counts(counts)}.{state}"


SCENARIOS = (
    Scenario(
        "invoice_extraction",
        "Invoices",
        lambda running: WEEK if running.sandbox else last_complete_days(datetime.now(UTC).date()),
        invoices,
    ),
    Scenario("employee_onboarding", "Employees", drop_sample, employees, writes=True),
    Scenario("contact_sync", "Contacts", move_contacts, contacts),
    Scenario(
        "contact_sync",
        "Changes",
        change_contacts,
        changed_contacts,
        after="Contacts",
        writes=True,
    ),
)


def scenarios_for(running: Running) -> tuple[Scenario, ...]:
    """Return all scenarios for the sandbox, only those that do not write for another service."""
    return tuple(scenario for scenario in SCENARIOS if running.sandbox or not scenario.writes)


def _local_data(running: Running) -> Path:
    if not running.data_root.startswith("file://"):
        raise StackError(
            "The demo drops a file into a folder of this machine, but BMS_DATA_ROOT is "
            f"{running.data_root}. Unset it, or set it to file://…"
        )
    return Path(running.data_root.removeprefix("file://"))


def _counts(counts: Mapping[str, int]) -> str:
    """Return the counts above zero as text."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no row"
