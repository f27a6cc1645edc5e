"""The pages behind the first: a flow, one of its runs, a drop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, RowMapping
from upath import UPath

from bms_flows.runtime.settings import FlowSettings
from bms_provider.board import files, trends
from bms_provider.board.flows import FLOWS
from bms_provider.board.overview import rows
from bms_warehouse.queries import drops, loads, waiting

LOADS = 60
DAYS = 90
ROWS = 50
"""Rows set aside that a flow's page names."""
STEPS = 500
"""Steps of a run that its page shows."""
NOT_TAKEN = ("waiting", "withdrawn")
"""States of a drop that no run may have had yet; once one has begun, `started_at` says so."""


def flow_page(warehouse: Connection, name: str, settings: FlowSettings) -> dict[str, Any]:
    """Return what the page of a flow shows."""
    flow = FLOWS[name]
    since = datetime.now(UTC) - timedelta(days=DAYS)
    aside = waiting.quarantined(warehouse, flow.loads, ROWS) if flow.loads else []
    return {
        "row": rows(warehouse, [name], settings, LOADS)[0],
        "charts": trends.charts(warehouse, name, since, settings),
        "drops": drops.latest(warehouse, name, flow.creates, limit=LOADS) if flow.creates else [],
        "aside": aside,
        "contract": waiting.contract(warehouse) if name == "service_contract" else [],
    }


def run_page(
    warehouse: Connection, name: str, dag_run_id: str, root: UPath, step: int | None = None
) -> dict[str, Any] | None:
    """Return what the page of a run shows, None where `bms.run` knows no such run.

    Where not all steps are shown, the one of the number `step` is. Closes the connection.
    """
    steps = loads.steps(warehouse, name, dag_run_id, limit=STEPS, among=step)
    if not steps:
        return None
    totals: dict[int, list[RowMapping]] = {}
    for total in loads.totals(warehouse, [step["id"] for step in steps]):
        totals.setdefault(total["run_id"], []).append(total)
    warehouse.close()  # others wait for a session, and a store may be slow
    reports = files.listed(root, map(files.folder_of, steps))
    return {
        "name": name,
        "flow": FLOWS[name],
        "dag_run_id": dag_run_id,
        "many": steps[0]["many"],
        "steps": [
            (each, totals.get(each["id"], []), reports.get(files.folder_of(each) or "", []))
            for each in steps
        ],
    }


def drop_page(warehouse: Connection, name: str, drop: RowMapping, root: UPath) -> dict[str, Any]:
    """Return what the page of a drop shows. Closes the connection."""
    found = {
        "name": name,
        "flow": FLOWS[name],
        "drop": drop,
        "taken": drop["state"] not in NOT_TAKEN or drop["started_at"] is not None,
        "on_record": bool(loads.steps(warehouse, name, drop["dag_run_id"], limit=1)),
        "outcomes": [
            (word, (drop["details"] or {}).get(key, 0)) for key, (word, _) in trends.OUTCOMES.items()
        ],
        "plans": drops.plans(warehouse, drop["id"]),
        "waiting": waiting.rows_of_drop(warehouse, drop["id"]),
    }  # fmt: skip
    warehouse.close()
    reports = files.listed(root, [drop["report"]])
    return {**found, "files": reports.get(drop["report"] or "", [])}
