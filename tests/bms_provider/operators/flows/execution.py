"""Execution of an operator in the current task context."""

from typing import Any

from airflow.sdk import get_current_context

from bms_provider.operators.flows.base import BmsFlowOperator
from bms_provider.operators.flows.drops import (
    BmsCreateRecordsOperator,
    BmsDropReportOperator,
    BmsEnterPlanOperator,
    BmsPlanDropOperator,
)


def done(kind: type[BmsFlowOperator], **arguments: Any) -> Any:
    """Return the result of an operator."""
    return kind(task_id="task", **arguments).execute(get_current_context())


def plan(resource: str) -> dict[str, Any]:
    """Plan the run's file."""
    return done(BmsPlanDropOperator, resource=resource)


def enter(proposal: Any, answer: Any) -> dict[str, Any]:
    """Enter the plan of a file of employees."""
    return done(BmsEnterPlanOperator, resource="employee", proposal=proposal, answer=answer)


def create(entered: Any, chunk: int) -> dict[str, int]:
    """Create the rows of a chunk."""
    return done(BmsCreateRecordsOperator, resource="employee", entered=entered, chunk=chunk)


def conclude(entered: Any) -> dict[str, Any]:
    """Write the report."""
    return done(BmsDropReportOperator, resource="employee", entered=entered)
