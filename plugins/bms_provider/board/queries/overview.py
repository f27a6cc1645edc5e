"""Data of the overview: state of each flow, pending items, trends, quarantine, audit, service."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import RowMapping

from bms_flows.catalog import Flow
from bms_flows.monitoring import freshness
from bms_flows.monitoring.freshness import Freshness
from bms_flows.monitoring.pending import PendingItem, alarm_items, pending_items
from bms_flows.onboarding.inbox.claim import ENDED
from bms_provider.board.access import Viewer
from bms_provider.board.flows import FLOWS
from bms_provider.board.page import Page
from bms_provider.board.queries import trends
from bms_provider.board.states import TONES
from bms_provider.board.texts import outcome_labels
from bms_warehouse.queries import loads, waiting
from bms_warehouse.queries.trends import totals_beside

MAX_LOADS = 24
"""Loads of each flow, shown as ticks."""
MAX_SERVICE_LOADS = 3
"""Loads of each flow in the table of service requests."""
MAX_DIFFERENCES = 12
"""Days with differences."""
PERIOD = timedelta(days=35)
"""Period of the charts."""
COUNTED = ("complete", *ENDED)
"""States of loads whose counts are shown."""


@dataclass(frozen=True)
class FlowRow:
    """A flow on the overview, with its latest loads, newest first."""

    name: str
    flow: Flow
    state: str
    loads: list[RowMapping]
    fresh: Freshness | None

    @property
    def last(self) -> RowMapping | None:
        """The complete load from which freshness counts; None if it is not among `loads`.

        A later load of old days, or of a part of a list, may be complete but does not count. For a flow
        that creates records: the last drop with a result.
        """
        found = (load for load in self.loads if load["state"] in COUNTED)
        at = self.fresh.complete_at if self.fresh else None
        if at is not None:
            found = (load for load in found if load["started_at"] <= at <= load["finished_at"])
        return next(found, None)

    @property
    def flow_worked(self) -> bool:
        """Whether the state is the outcome of a dropped file, which says nothing about the flow."""
        return self.state in ENDED

    @property
    def complete_at(self) -> datetime | None:
        """End of the last complete load."""
        if self.fresh and self.fresh.complete_at:
            return self.fresh.complete_at
        return self.last["finished_at"] if self.last else None

    @property
    def age(self) -> timedelta | None:
        """Age of the last complete load, for flows with a freshness target."""
        return self.fresh.age if self.fresh else None

    @property
    def allowed(self) -> timedelta | None:
        """Maximum age, by the freshness target."""
        return self.fresh.limit if self.fresh else None

    @property
    def share(self) -> float | None:
        """Age as a share of the maximum age."""
        return self.age / self.allowed if self.age and self.allowed else None


def flow_rows(page: Page, names: list[str], max_loads: int) -> list[FlowRow]:
    """Return the state and the latest loads of each flow."""
    fresh = freshness.read_freshness(page.warehouse, page.settings)
    steps = {name: FLOWS[name].last_step for name in names}
    found = loads.latest(page.warehouse, steps, max_loads)
    return [
        FlowRow(
            name, FLOWS[name], _state(fresh.get(name), found[name]), found[name], fresh.get(name)
        )
        for name in names
    ]


def overview(page: Page) -> dict[str, Any]:
    """Return the data of the overview, limited to the flows that the user may view."""
    warehouse, who, settings = page.warehouse, page.who, page.settings
    names = [name for name in FLOWS if name in who.views]
    rows = flow_rows(page, names, MAX_LOADS)
    pending = [
        *alarm_items(warehouse, who.views, settings),
        *pending_items(warehouse, who.views, settings),
    ]
    mirrors = {table: name for name in names if (table := FLOWS[name].loads)}
    return {
        "rows": [row for row in rows if not row.flow.creates],
        "creations": [row for row in rows if row.flow.creates],
        "outcomes": outcome_labels("EN"),
        "summary": summary(rows, pending),
        "pending": pending,
        "charts": [chart for name in names for chart in trends.charts(page, name, PERIOD)],
        "totals": totals_beside(warehouse, "invoice_extraction", "extract")
        if "invoice_extraction" in names
        else [],
        "quarantine": [
            (mirrors[each["resource"]], each) for each in waiting.quarantine(warehouse, [*mirrors])
        ],
        "differences": [
            (mirrors[each["resource"]], each)
            for each in waiting.differences(warehouse, [*mirrors], MAX_DIFFERENCES)
        ],
        "audited": waiting.audited(warehouse, [*mirrors]) if "reconciliation" in names else [],
        "cycle": waiting.cycle(warehouse, [*mirrors]) if "reconciliation" in names else [],
        "contract": waiting.contract(warehouse) if "service_contract" in names else [],
        "service": [
            (row, load)
            for row in rows
            for load in [each for each in row.loads if each["requests"]][:MAX_SERVICE_LOADS]
        ],
    }  # fmt: skip


def viewed(health: dict[str, Any], who: Viewer) -> dict[str, Any]:
    """Return the health report without the flows, and their alarms, that the user may not view."""
    hidden = FLOWS.keys() - who.views
    return {
        **health,
        "flows": {name: flow for name, flow in health["flows"].items() if name not in hidden},
        "alarms": [alarm for alarm in health["alarms"] if alarm["flow"] not in hidden],
    }


def summary(rows: list[FlowRow], pending: list[PendingItem]) -> str:
    """Return the headline: the health of the flows and the number of pending items."""
    never = sum(row.state == "never" for row in rows)
    unhealthy = sum(TONES[row.state] in ("warn", "bad") and not row.flow_worked for row in rows)
    healthy = len(rows) - never - unhealthy
    if never == len(rows):
        flows = "No flow ran yet"
    elif healthy == len(rows):
        flows = "All flows healthy"
    else:
        counts = {"unhealthy": unhealthy, "healthy": healthy, "never ran": never}
        flows = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    if not pending:
        return flows
    return f"{flows} · {len(pending)} {'action' if len(pending) == 1 else 'actions'} needed"


def _state(fresh: Freshness | None, found: list[RowMapping]) -> str:
    """Return a flow's state: its freshness, or the state of its last finished load without a target."""
    if fresh is not None:
        return fresh.state or "never"
    return next((load["state"] for load in found if load["state"] != "running"), "never")
