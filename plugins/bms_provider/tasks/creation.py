"""Tasks of the onboarding DAGs: Airflow's context in, a step of the onboarding flow, its manifest out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from bms_flows.onboarding.onboarding import DagRun, Onboarding
from bms_provider import flow_context
from bms_provider.hooks.bms import BmsHook

if TYPE_CHECKING:
    from collections.abc import Iterator


def plan(resource: str) -> dict[str, Any]:
    """Plan the run's drop."""
    with _onboarding(resource) as onboarding:
        return onboarding.plan()


def enter(resource: str, proposed: dict[str, Any], answer: dict[str, Any] | None) -> dict[str, Any]:
    """Enter an approved plan in the ledger."""
    with _onboarding(resource) as onboarding:
        return onboarding.enter(proposed, answer)


def apply(resource: str, entered: dict[str, Any], chunk: int) -> dict[str, int]:
    """Create the rows of one chunk."""
    with _onboarding(resource) as onboarding:
        return onboarding.apply(entered, chunk)


def conclude(resource: str, entered: dict[str, Any] | None) -> dict[str, Any]:
    """Write the report and close the drop."""
    with _onboarding(resource) as onboarding:
        return onboarding.conclude(entered)


@contextmanager
def _onboarding(resource: str) -> Iterator[Onboarding]:
    context, settings = get_current_context(), flow_context.onboarding_settings()
    run = context["dag_run"]
    dag_run = DagRun(run.dag_id, run.run_id, context["params"], run.triggering_user_name)
    with flow_context.open_context(settings) as flow:
        yield Onboarding(flow, settings, resource, dag_run, BmsHook(), flow_context.emit)
