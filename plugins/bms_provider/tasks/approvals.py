"""Messages to the approvers of waiting plans, sent by the approval task and the watchdog."""

from __future__ import annotations

from functools import partial

from bms_flows.monitoring import approvals
from bms_provider import flow_context, notices


def notify() -> int:
    """Send the requests and reminders that are due; return their number."""
    settings = flow_context.onboarding_settings()
    with flow_context.open_context(settings) as flow:
        channel = partial(notices.to_approvers, settings)
        return approvals.notify(flow.warehouse, channel, settings)
