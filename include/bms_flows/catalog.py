"""Catalog of flows: one row per DAG. DAG files import this module: it imports nothing heavy."""

from dataclasses import dataclass
from typing import Final, Literal

from bms_warehouse.resources import (
    CONSULTANT,
    CONTACT,
    EMPLOYEE,
    RESOURCES,
    ResourceDescription,
)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A DAG of the project."""

    dag_id: str
    title: str
    unpause_group: Literal["invoices", "mirrors", "onboarding", "maintenance"]
    """DAGs of one group depend on each other or on the same permission; unpause them together."""
    loads: str | None = None
    """Resource that the flow copies from the service to the warehouse."""
    creates: str | None = None
    """Resource that the flow creates in the service from dropped files."""
    tables: tuple[str, ...] = ()
    """Tables of current rows that the flow loads; stored responses are in folders of these names."""
    steps: tuple[str, ...] = ()
    """Steps that the flow records in the warehouse, in order."""
    process: tuple[str, ...] = ()
    """What a run does inside its tasks, in order; the DAG's documentation shows it."""
    impact: str = ""
    """What a missed freshness target means for users of the data; empty without a target."""
    fresh_hours: float = 26
    """Limit on the age of the last complete load; `BMS_FRESH_HOURS` gives other hours."""
    daily: bool = False
    """Whether the flow loads whole days: then only a load that includes yesterday counts."""
    uses_pool: bool = True
    """Whether tasks of the flow send requests to the service, and so take slots of its pool."""
    on_board: bool = True

    @property
    def last_step(self) -> str | None:
        """The step whose completion completes a load or a drop."""
        return self.steps[-1] if self.steps else None


CREATION_STEPS: Final = ("plan", "decide", "enter", "create", "conclude")

_MIRROR_PROCESS: Final = (
    "Read the list until two passes agree, with different page sizes if the list has pages.",
    "Compare each row with the mirror: new, changed, missing.",
    "Read the details of new and changed rows, of a few others in rotation, and of each missing row.",
    "Store the responses, without private fields.",
    "Publish rows, versions and confirmed removals in one transaction.",
)


def _mirror(resource: ResourceDescription) -> Flow:
    private = f"{resource.name}_private"
    return Flow(
        dag_id=resource.dag_id or f"{resource.name}_sync",
        title=resource.title,
        unpause_group="mirrors",
        loads=resource.name,
        tables=(resource.name, *([private] if resource.private_columns else ())),
        steps=("sync",),
        process=_MIRROR_PROCESS,
        impact=f"{resource.title} are out of date; new {resource.plural} are missing.",
        fresh_hours=resource.fresh_hours,
    )


_ROWS = (
    Flow(
        dag_id="invoice_extraction",
        title="Client invoices",
        unpause_group="invoices",
        loads="client_invoice",
        tables=("client_invoice",),
        steps=("plan", "extract"),
        process=(
            "Plan which days of each entity to read.",
            "Read the days concurrently, and store each response.",
            "Convert the rows to exact types; quarantine rows that no type can hold.",
            "Compare the rows with the stored rows; search for invoices that are missing from their day.",
            "Check that the load is plausible; hold implausible days.",
            "Publish rows, versions, watermark and control totals in one transaction.",
        ),
        impact="Invoice reports lack recent days and late changes.",
        daily=True,
    ),
    Flow(
        dag_id="invoice_report",
        title="Invoice report",
        unpause_group="invoices",
        steps=("report",),
        process=(
            "Read what the warehouse held at one moment: open items, turnover, credits, missing numbers.",
            "Compare the amounts due with the previous report and with the last end of a month.",
            "Write a workbook and CSV files, and mail the workbook to `BMS_REPORT_TO`.",
        ),
        uses_pool=False,
    ),
    *map(_mirror, RESOURCES),
    *(
        Flow(
            dag_id=dag_id,
            title=f"New {resource.plural}",
            unpause_group="onboarding",
            creates=resource.name,
            steps=CREATION_STEPS,
        )
        for dag_id, resource in (
            ("employee_onboarding", EMPLOYEE),
            ("contact_creation", CONTACT),
            ("consultant_creation", CONSULTANT),
        )
    ),
    Flow(
        dag_id="inbox_dispatch",
        title="Inbox",
        unpause_group="onboarding",
        uses_pool=False,
        on_board=False,
    ),
    Flow(
        dag_id="reconciliation",
        title="Self-audit",
        unpause_group="maintenance",
        steps=("audit",),
        process=(
            "Choose the days, lists and rows of this part of the cycle.",
            "Read them in several ways, and compare the readings.",
            "Read differing rows again; ignore rows that changed in between.",
            "Compare the warehouse with the readings.",
            "Record the result of each day and list.",
        ),
        impact="The warehouse has not been compared with the service.",
    ),
    Flow(
        dag_id="service_contract",
        title="Contract probe",
        unpause_group="maintenance",
        steps=("probe",),
        process=(
            "Send read requests that answer one question after the other; nothing is created.",
            "Compare the findings with those of earlier runs and with the settings.",
            "Store new findings; send an alarm for each change and contradiction.",
        ),
        impact="Changes of the service's behaviour stay undetected.",
        fresh_hours=172,
    ),
    Flow(
        dag_id="retention",
        title="Retention",
        unpause_group="maintenance",
        steps=("sweep",),
        process=(
            "Delete files that are older than the retention of their kind.",
            "Delete request bodies and snapshots of the service that no drop needs.",
        ),
        impact="Files with personal data are stored too long.",
        uses_pool=False,
    ),
    Flow(
        dag_id="freshness_watchdog",
        title="Freshness watchdog",
        unpause_group="maintenance",
        process=(
            "Compare the age of each flow's last complete load with its freshness target.",
            "Send an alarm when a problem starts, and a recovery when it ends.",
            "Create missing inboxes; close drops whose file was removed.",
            "Check whether tasks wait for pool slots that never become free.",
        ),
        uses_pool=False,
        on_board=False,
    ),
)

FLOWS: Final = {row.dag_id: row for row in _ROWS}
"""Every flow by DAG id, in the order in which the board shows them."""

LOADED_BY: Final = {row.loads: row for row in _ROWS if row.loads}
"""By resource, the flow that loads the resource."""

CREATED_BY: Final = {row.creates: row for row in _ROWS if row.creates}
"""By resource, the flow that creates the resource."""

POOL_USERS: Final = tuple(row.dag_id for row in _ROWS if row.uses_pool)
"""DAGs with tasks in the pool of the service."""

WITH_TARGET: Final = tuple(row for row in _ROWS if row.impact)
"""Flows with a freshness target."""
