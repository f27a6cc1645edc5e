"""The pages behind the first: a flow, one of its runs, a drop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, RowMapping
from upath import UPath

from bms_flows.settings import Settings
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


def flow_page(warehouse: Connection, name: str, settings: Settings) -> dict[str, Any]:
    """Return what the page of a flow shows."""
    flow = FLOWS[name]
    since = datetime.now(UTC) - timedelta(days=DAYS)
    aside = waiting.quarantined(warehouse, flow.mirrors, ROWS) if flow.mirrors else []
    return {
        "row": rows(warehouse, [name], settings, LOADS)[0],
        "charts": trends.charts(warehouse, name, since, settings),
        "drops": drops.latest(warehouse, name, flow.creates, limit=LOADS) if flow.creates else [],
        "aside": aside,
        "contract": waiting.contract(warehouse) if name == "service_contract" else [],
    }


def run_page(
    warehouse: Connection, name: str, dag_run_id: str, root: UPath
) -> dict[str, Any] | None:
    """Return what the page of a run shows, None where `bms.run` knows no such run."""
    steps = loads.steps(warehouse, name, dag_run_id=dag_run_id, limit=STEPS)
    if not steps:
        return None
    totals: dict[int, list[RowMapping]] = {}
    for total in loads.totals(warehouse, [step["id"] for step in steps]):
        totals.setdefault(total["run_id"], []).append(total)
    return {
        "name": name,
        "flow": FLOWS[name],
        "dag_run_id": dag_run_id,
        "steps": [
            (step, totals.get(step["id"], []), files.listed(root, files.folder_of(step)))
            for step in reversed(steps)
        ],
    }


def drop_page(warehouse: Connection, name: str, drop: RowMapping, root: UPath) -> dict[str, Any]:
    """Return what the page of a drop shows."""
    return {
        "name": name,
        "flow": FLOWS[name],
        "drop": drop,
        "outcomes": [
            (word, (drop["details"] or {}).get(key, 0)) for key, (word, _) in trends.OUTCOMES.items()
        ],
        "plans": drops.plans(warehouse, drop["id"]),
        "waiting": waiting.rows_of_drop(warehouse, drop["id"]),
        "files": files.listed(root, drop["report"]),
    }  # fmt: skip
