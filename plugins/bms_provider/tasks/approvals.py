"""Messages to the approvers of waiting plans, sent by the approval task and the watchdog."""

from __future__ import annotations

from bms_flows.monitoring import approvals
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.notice import Links
from bms_provider import flow_context, notices


def notify() -> int:
    """Send the requests and reminders that are due; return their number."""
    settings = OnboardingSettings.from_environment()
    with flow_context.open_context() as flow:
        links = Links.of(flow.settings)
        return approvals.notify(flow.warehouse, notices.to_approvers, links, settings)
