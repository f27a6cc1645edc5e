"""Tasks of the onboarding DAGs: Airflow's context in, a step of the onboarding flow, its manifest out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from bms_flows.onboarding import steps as onboarding
from bms_flows.onboarding.run import OnboardingRun
from bms_provider import flow_context
from bms_provider.hooks.bms import BmsHook

if TYPE_CHECKING:
    from collections.abc import Iterator


def plan(resource: str) -> dict[str, Any]:
    """Plan the run's drop."""
    with _run(resource) as run:
        return onboarding.plan(run)


def enter(resource: str, proposed: dict[str, Any], answer: dict[str, Any] | None) -> dict[str, Any]:
    """Enter an approved plan in the ledger."""
    with _run(resource) as run:
        return onboarding.enter(run, proposed, answer)


def apply(resource: str, entered: dict[str, Any], chunk: int) -> dict[str, int]:
    """Create the rows of one chunk."""
    with _run(resource) as run:
        return onboarding.apply(run, entered, chunk)


def conclude(resource: str, entered: dict[str, Any] | None) -> dict[str, Any]:
    """Write the report and close the drop."""
    with _run(resource) as run:
        return onboarding.conclude(run, entered)


@contextmanager
def _run(resource: str) -> Iterator[OnboardingRun]:
    context = get_current_context()
    dag_run = context["dag_run"]
    with flow_context.open_context() as flow:
        yield OnboardingRun(
            flow,
            resource,
            dag_id=dag_run.dag_id,
            dag_run_id=dag_run.run_id,
            params=context["params"],
            user=dag_run.triggering_user_name,
            connect=BmsHook,
            emit=flow_context.emit,
        )
