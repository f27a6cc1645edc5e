"""The first page: how every flow stands, and what waits for a person."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from bms_provider.board.access import Viewer
from bms_provider.board.flows import FLOWS
from bms_warehouse.queries import steps


def overview(warehouse: Connection, who: Viewer) -> dict[str, Any]:
    """Return what the page shows to `who`."""
    loads = {name: flow.loads for name, flow in FLOWS.items() if name in who.views}
    latest = steps.latest(warehouse, loads)
    return {
        "flows": [
            (name, FLOWS[name], [step for step in latest if step["flow"] == name]) for name in loads
        ],
    }
