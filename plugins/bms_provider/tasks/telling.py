"""Telling the people of an inbox how a drop ended: Airflow calls it once `conclude` has.

A callback and no task: a message that can't be sent is said in the log, and changes nothing of the
drop or its run.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec

from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.notices import notice
from bms_flows.onboarding.inbox.settings import InboxSettings
from bms_flows.onboarding.reporting.report import RECEIPT
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.runtime import storage
from bms_flows.runtime.notice import NotDelivered
from bms_provider import flow_context, notices

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)


def tell(name: str, context: Mapping[str, Any]) -> None:
    """Tell whom `BMS_INBOX_NOTICES` names; nobody where it names nobody, or where there is no report."""
    inbox = REMOTES[name].resource.inbox
    to = InboxSettings.from_environment().inbox_notices.get(inbox)
    planned = context["ti"].xcom_pull(task_ids="plan")
    if to is None or planned is None:
        return
    with flow_context.open_context() as flow:
        drop, run = claim.get(flow.warehouse, planned["drop"]), context["dag_run"]
        if drop.report is None or drop.state == "open" or drop.dag_run_id != run.run_id:
            return  # what stands there is an earlier run's word, or another's
        folder = flow.path(drop.report)
        receipt = msgspec.json.decode(storage.read_file(folder / RECEIPT))
        message = notice(
            drop,
            inbox,
            receipt["counts"],
            plan=receipt["plan"]["id"],
            report=str(folder),
            run=notices.links(flow.settings).run(run.dag_id, run.run_id),
        )
    try:
        notices.send_to(to, message)
    except NotDelivered as error:
        log.warning("the message of drop %s was not taken: %s", drop.id, error)
