"""Execution of an operator in the current task context."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from airflow.sdk import get_current_context
from airflow.sdk.execution_time.context import set_current_context

from bms_flows.onboarding.sending.apply import NothingSent
from bms_provider.operators.flows.base import BmsFlowOperator
from bms_provider.operators.flows.drops import (
    BmsCreateRecordsOperator,
    BmsDropReportOperator,
    BmsEnterPlanOperator,
    BmsPlanDropOperator,
)

HEADER = "Matricule;Nom;Prénom;Entité;Date d'entrée\r\n"
DROP = f"{HEADER}810001;Dupré;Zoé;1;2027-01-04\r\n"


class Events:
    """Accepts the events of an asset."""

    def add(self, asset: Any, extra: Any) -> None:
        """Accept an event."""


@contextmanager
def task_of(dag_id: str, run_id: str, params: Any, **dag_run: Any) -> Iterator[Any]:
    """Run the block in the task context of a DAG run; yield the context."""
    given: dict[str, Any] = {
        "dag_id": dag_id,
        "run_id": run_id,
        "triggering_user_name": None,
        "data_interval_start": None,
        "data_interval_end": None,
        "run_after": datetime(2026, 3, 31, tzinfo=UTC),
        **dag_run,
    }
    context: Any = {
        "dag_run": SimpleNamespace(**given),
        "params": params,
        "task": SimpleNamespace(pool="default_pool", pool_slots=1, outlets=[]),
        "task_instance": SimpleNamespace(id="1"),
        "outlet_events": defaultdict(Events),
    }
    with set_current_context(context):
        yield context


def done(kind: type[BmsFlowOperator], **arguments: Any) -> Any:
    """Return the result of an operator."""
    return kind(task_id="task", **arguments).execute(get_current_context())


def plan(resource: str, **arguments: Any) -> dict[str, Any]:
    """Plan the file that the arguments or the run's params name."""
    return done(BmsPlanDropOperator, resource=resource, **arguments)


def enter(proposal: Any, answer: Any) -> dict[str, Any]:
    """Enter the plan of a file of employees."""
    return done(BmsEnterPlanOperator, resource="employee", proposal=proposal, answer=answer)


def create(entered: Any, chunk: int) -> dict[str, int]:
    """Create the rows of a chunk; again when a busy machine sent nothing in time, as Airflow does."""
    arguments = {"resource": "employee", "entered": entered, "chunk": chunk}
    for _ in range(9):
        with suppress(NothingSent):
            return done(BmsCreateRecordsOperator, **arguments)
    return done(BmsCreateRecordsOperator, **arguments)


def conclude(entered: Any) -> dict[str, Any]:
    """Write the report."""
    return done(BmsDropReportOperator, resource="employee", entered=entered)
