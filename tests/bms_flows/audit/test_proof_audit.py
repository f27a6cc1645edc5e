"""Proof of the audit: detected seeded faults and false alarms; docs/proof.md has the figures."""

from contextlib import suppress
from typing import Any

import pytest
from upath import UPath

from bms_flows.invoices.acceptance import accept_unit
from bms_flows.invoices.planning import held_loads
from bms_flows.runtime.checks import LoadHeld
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.step_log import Step
from bms_sandbox.serve import Sandbox
from tests.bms_flows.audit.concurrent_edits import ConcurrentEdits
from tests.bms_flows.audit.environment import TODAY, Auditor
from tests.bms_flows.audit.test_run import BUGS

pytestmark = [pytest.mark.prove, pytest.mark.timeout(3000)]

DIALECTS: list[dict[str, Any]] = [
    {},
    {"list_order": "modified_on"},
    {"list_order": "name", "past_end": "last_page"},
    {"list_order": "id_desc", "nulls": "absent"},
    {"page_size_max": 30, "datetime_format": "utc_ms"},
    {"page_size_max": 70, "date_format": "zone", "extra_fields": True},
    {"end_date": "exclusive", "datetime_format": "datetime"},
    {"longest_range": 10, "all_includes_deleted": False},
    {"date_format": "ms", "datetime_format": "ms", "unknown_entity": "not_found"},
    {"one_live_token": True, "rate_limit": 300.0},
]
RUNS = 20
"""Number of audits without faults per dialect."""


def life(sandbox: Sandbox, auditor: Auditor, seed: int) -> ConcurrentEdits:
    return ConcurrentEdits(sandbox, auditor.window.start, auditor.window.end, seed)


def alive(sandbox: Sandbox, auditor: Auditor, **readings: Any) -> dict[str, Any]:
    """Restart the sandbox with a running clock, fill the warehouse and return the client settings."""
    sandbox.reset()
    sandbox.set_clock(TODAY, frozen=False)
    sandbox.set_dialect(**readings)
    tables = ("client_invoice", "contact", "consultant", "employee")
    others = ("client_invoice_day", "reconciliation", "alarm", "control_total", "quarantine")
    names = (*tables, *(f"{table}_superseded" for table in tables), *others)
    auditor.execute(f"truncate {', '.join(f'bms.{name}' for name in names)}")
    auditor.execute("delete from bms.step_run")
    inclusive = readings.get("end_date") != "exclusive"
    return {"end_date_inclusive": inclusive}


def load(auditor: Auditor, client: dict[str, Any]) -> None:
    """Run all flows; accept the days that a hundred times the usual edits hold for review."""
    with suppress(LoadHeld):
        auditor.extract(str(auditor.window.start), str(auditor.window.end), **client)
    flow = FlowContext(auditor.warehouse, UPath(auditor.mirror.data_root), auditor.settings)
    for unit in held_loads(auditor.warehouse, [1]):
        days = unit.span.start, unit.span.end
        accept_unit(flow, unit, Step("invoice_extraction", "accepted", "extract", 1, *days))
    auditor.read_lists()


def test_seeded_bugs_are_found(sandbox: Sandbox, auditor: Auditor) -> None:
    missed, lines = [], []
    for seed, (bug, operation, resource, code) in enumerate(BUGS):
        client = alive(sandbox, auditor)
        load(auditor, client)
        sandbox.set_fault(bug, operation=operation)
        living = life(sandbox, auditor, seed)
        with living.going_on():
            auditor.run(**client)
        found = auditor.found()
        lines.append(f"| `{bug}` | {found.get(resource, {})} | {auditor.counters.requests} |")
        if code not in found.get(resource, {}):
            missed.append(bug)
        assert set(found) <= {resource}, (bug, found)
    print("\n" + "\n".join(lines))  # noqa: T201 -- the table of docs/proof.md
    assert missed == []


def test_clean_audits_raise_no_alarm(sandbox: Sandbox, auditor: Auditor) -> None:
    runs, changes, changed, requests, rows = 0, 0, 0, [], 0
    for number, readings in enumerate(DIALECTS):
        client = alive(sandbox, auditor, **readings)
        for run in range(RUNS):
            if run % 5 == 0:
                load(auditor, client)
            living = life(sandbox, auditor, 1000 * number + run)
            with living.going_on():
                auditor.run(**client)
            auditor.next_day()
            runs, changes = runs + 1, changes + living.changes
            requests.append(auditor.counters.requests)
            assert auditor.found() == {}, (readings, run)
            [(more, compared)] = auditor.query(
                "select sum(changed_meanwhile + coalesce((select sum(value::int)"
                " from jsonb_each_text(pending)), 0)), sum(rows_compared) from bms.reconciliation"
                " where step_run_id = (select max(step_run_id) from bms.reconciliation)"
            )
            changed, rows = changed + more, rows + compared
        assert auditor.ringing() == set()
    print(  # noqa: T201 -- the table of docs/proof.md
        f"\n{runs} audits, {rows} rows compared, {changes} changes meanwhile, {changed} rows seen "
        f"changed, {min(requests)} to {max(requests)} requests, no difference reported"
    )
