"""Notices about closed drops, sent from the callbacks of `conclude`.

A failed notice is logged and does not affect the drop or its run.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec

from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.closing import notice
from bms_flows.onboarding.reporting.report import RECEIPT
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.runtime import storage
from bms_flows.runtime.notice import Links, NotDelivered
from bms_provider import flow_context, notices

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)


def notify(context: Mapping[str, Any]) -> None:
    """Send the outcome of a drop to the recipient in `BMS_INBOX_NOTICES`, if there is one and a report."""
    planned = context["ti"].xcom_pull(task_ids="plan")
    settings = flow_context.onboarding_settings()
    if planned is None or not settings.inbox_notices:
        return
    with flow_context.open_context(settings) as flow:
        drop, run = claim.get(flow.warehouse, planned["drop"]), context["dag_run"]
        inbox = REMOTES[drop.resource].resource.inbox
        to = settings.inbox_notices.get(inbox)
        if to is None:
            return
        if drop.report is None or drop.state == "open" or drop.dag_run_id != run.run_id:
            return  # the report is from another run
        folder = flow.path(drop.report)
        receipt = msgspec.json.decode(storage.read_file(folder / RECEIPT))
        links = Links.of(flow.settings)
        message = notice(
            drop,
            inbox,
            receipt["counts"],
            language=settings.language_of(inbox),
            plan=receipt["plan"]["id"],
            report=links.drop(drop.id),
            run=links.run(run.dag_id, run.run_id),
        )
    try:
        notices.send_to(to, message)
    except NotDelivered as error:
        log.warning("the notice of drop %s was not delivered: %s", drop.id, error)
