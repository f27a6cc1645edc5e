"""Freshness task of the DAG freshness_watchdog."""

from __future__ import annotations

from functools import partial

from bms_flows.monitoring import approvals
from bms_flows.monitoring.freshness_check import check_targets
from bms_flows.monitoring.gauges import gauges
from bms_flows.onboarding import dispatch
from bms_flows.onboarding.inboxes import Inbox
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.runtime.notice import Links
from bms_provider import compat, flow_context, notices


def check() -> dict[str, str]:
    """Check the freshness targets, send alarms and recoveries; return the state of each flow.

    Also creates missing inboxes, since no file can be dropped before its inbox exists, and closes the
    drops that wait for a file which was removed from its inbox.
    """
    settings = flow_context.onboarding_settings()
    with flow_context.open_context(settings) as flow:
        links = Links.of(flow.settings)
        with flow.warehouse.begin() as connection:
            found = check_targets(connection, flow.settings, links)
            for name, value, tags in gauges(connection, found):
                compat.metrics().gauge(name, value, tags=tags)
            approvals.check(connection, settings)
        try:
            for name in REMOTES:
                inbox = Inbox(flow, name, settings)
                inbox.provide()
                dispatch.tidy(inbox)
        finally:  # messages do not depend on inboxes, nor inboxes on messages
            channel = partial(notices.to_approvers, settings)
            approvals.notify(flow.warehouse, channel, settings)
            notices.deliver(flow)  # raises while no channel accepts messages
    return {name: freshness.state or "never_ran" for name, freshness in found.items()}
