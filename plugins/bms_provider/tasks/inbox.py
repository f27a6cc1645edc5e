"""Task of inbox_dispatch: claims dropped files and returns the DAG runs to start."""

from __future__ import annotations

from typing import Any

from bms_flows.onboarding import dispatch as drops
from bms_provider import flow_context


def dispatch(name: str) -> list[dict[str, Any]]:
    """Claim every settled file of an inbox; return the run to start for each drop."""
    with flow_context.open_context() as flow:
        return drops.dispatch(flow, name, flow_context.step(f"take_{name}"))
