"""The first page: how every flow stands, what waits for a person, what came, how the service was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, RowMapping

from bms_flows.catalog import Flow
from bms_flows.monitoring import freshness
from bms_flows.monitoring.freshness import Freshness
from bms_flows.runtime.settings import FlowSettings
from bms_provider.board import trends
from bms_provider.board.access import Viewer
from bms_provider.board.flows import FLOWS
from bms_provider.board.states import STATES
from bms_provider.board.waits import waits
from bms_warehouse.queries import loads, waiting
from bms_warehouse.queries.trends import totals_beside

RUNS = 24
"""Loads of each flow shown as ticks."""
HEALTH = 3
"""Loads of each flow whose requests are shown."""
DIFFERENCES = 12
"""Days shown that don't agree."""
DAYS = 35
"""Days in the charts."""


@dataclass(frozen=True)
class Row:
    """A flow on the first page: `loads` are its youngest, the youngest first."""

    name: str
    flow: Flow
    state: str
    loads: list[RowMapping]
    fresh: Freshness | None

    @property
    def last(self) -> RowMapping | None:
        """The last complete load, where it is among the youngest; the one that freshness counts from.

        Loads of old days, or of a part of a list, are complete too and refresh nothing.
        """
        found = (load for load in self.loads if load["state"] == "complete")
        at = self.fresh.complete_at if self.fresh else None
        if at is not None:
            found = (load for load in found if load["started_at"] <= at <= load["finished_at"])
        return next(found, None)

    @property
    def complete_at(self) -> datetime | None:
        """When the last complete load ended."""
        if self.fresh and self.fresh.complete_at:
            return self.fresh.complete_at
        return self.last["finished_at"] if self.last else None

    @property
    def age(self) -> timedelta | None:
        """How old it is; only where an age was promised."""
        return self.fresh.age if self.fresh else None

    @property
    def allowed(self) -> timedelta | None:
        """How old it may be."""
        return self.fresh.limit if self.fresh else None

    @property
    def share(self) -> float | None:
        """Its age as a share of the promise."""
        return self.age / self.allowed if self.age and self.allowed else None


def rows(warehouse: Connection, names: list[str], settings: FlowSettings, runs: int) -> list[Row]:
    """Return how each of these flows stands."""
    fresh = freshness.read_freshness(warehouse, settings)
    found = loads.latest(warehouse, {name: FLOWS[name].last_step for name in names}, runs)
    return [
        Row(name, FLOWS[name], _state(fresh.get(name), found[name]), found[name], fresh.get(name))
        for name in names
    ]


def overview(warehouse: Connection, who: Viewer, settings: FlowSettings) -> dict[str, Any]:
    """Return what the page shows to `who`."""
    names = [name for name in FLOWS if name in who.views]
    shown = rows(warehouse, names, settings, RUNS)
    mirrors = {table: name for name in names if (table := FLOWS[name].loads)}
    since = datetime.now(UTC) - timedelta(days=DAYS)
    return {
        "rows": shown,
        "summary": summary(shown),
        "waits": waits(warehouse, who),
        "charts": [chart for name in names for chart in trends.charts(warehouse, name, since, settings)],
        "totals": totals_beside(warehouse, "invoice_extraction", "extract")
        if "invoice_extraction" in names
        else [],
        "quarantine": [
            (mirrors[each["resource"]], each) for each in waiting.quarantine(warehouse, [*mirrors])
        ],
        "differences": [
            (mirrors[each["resource"]], each)
            for each in waiting.differences(warehouse, [*mirrors], DIFFERENCES)
        ],
        "audited": waiting.audited(warehouse, [*mirrors]) if "reconciliation" in names else [],
        "cycle": waiting.cycle(warehouse, [*mirrors]) if "reconciliation" in names else [],
        "contract": waiting.contract(warehouse) if "service_contract" in names else [],
        "health": [
            (row, load)
            for row in shown
            for load in [each for each in row.loads if each["requests"]][:HEALTH]
        ],
    }  # fmt: skip


def viewed(health: dict[str, Any], who: Viewer) -> dict[str, Any]:
    """Return the health report without flows that `who` may not view, and their alarms."""
    hidden = FLOWS.keys() - who.views
    return {
        **health,
        "flows": {name: flow for name, flow in health["flows"].items() if name not in hidden},
        "alarms": [alarm for alarm in health["alarms"] if alarm["flow"] not in hidden],
    }


def summary(shown: list[Row]) -> str:
    """Return how the flows stand, in a sentence."""
    ran = [STATES[row.state] for row in shown if row.state != "never"]
    wrong = sum(state.tone in ("warn", "bad") for state in ran)
    if not ran:
        return "No flow ran yet"
    if not wrong:
        return "Every flow that ran is as it should be"
    return f"{wrong} of {len(ran)} flows {'needs' if wrong == 1 else 'need'} a look"


def _state(fresh: Freshness | None, found: list[RowMapping]) -> str:
    """Return a flow's state: as it keeps its promise, else as its youngest load that ended did."""
    if fresh is not None:
        return fresh.state or "never"
    return next((load["state"] for load in found if load["state"] != "running"), "never")
