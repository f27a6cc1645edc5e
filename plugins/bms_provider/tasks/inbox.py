"""Task of inbox_dispatch: claims dropped files and returns the DAG runs to start."""

from __future__ import annotations

from typing import Any

from bms_flows.onboarding import dispatch as drops
from bms_flows.onboarding.inboxes import Inbox
from bms_provider import flow_context


def dispatch(name: str) -> list[dict[str, Any]]:
    """Claim every settled file of an inbox; return the run to start for each drop."""
    settings = flow_context.onboarding_settings()
    with flow_context.open_context(settings) as flow:
        return drops.dispatch(Inbox(flow, name, settings), flow_context.step(f"take_{name}"))
