"""Requests for approval that wait for an answer: messages to the approvers, reminders, and an alarm.

A message is recorded as sent once a channel has accepted it; a crash in between sends it twice.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Engine, select, update

from bms_flows.catalog import CREATED_BY
from bms_flows.monitoring import alarms
from bms_flows.onboarding.planning.plan import ApprovalReason
from bms_flows.onboarding.reporting import approval_request
from bms_flows.onboarding.reporting.approval_request import ApprovalRequest
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.notice import Links, NotDelivered, Notice, Send
from bms_warehouse.database import clock
from bms_warehouse.queries import waiting
from bms_warehouse.tables import creation_plan

log = logging.getLogger(__name__)

ALARM: Final = "approval_waits"
NO_OTHER: Final = "no_other_approver"
CODES: Final = (ALARM, NO_OTHER)
"""Codes of the alarms about a request, which its answer closes, not the end of its drop."""
ANSWERED: Final = "The request was answered or has expired."


def notify(
    engine: Engine,
    channel: Callable[[str], Send | None],
    settings: OnboardingSettings,
    now: datetime | None = None,
) -> int:
    """Send the messages and reminders that are due; return their number.

    `channel` returns the channel to the approvers of an inbox, None without one. A message that no
    channel accepts is logged and is due again; no two processes send the same message.
    """
    sent = 0
    with engine.connect() as connection:
        now = now or clock(connection)
        found = waiting.plans(connection, [*CREATED_BY])
    for request in found:
        send = channel(REMOTES[request["resource"]].resource.inbox)
        if send is None or not due(request, settings, now):
            continue
        with engine.begin() as connection:
            plan = creation_plan.c
            mine = (plan.drop_id == request["drop_id"]) & (plan.id == request["plan_id"])
            waits = (plan.state == "made") & (plan.asked_at == request["asked_at"])
            unanswered = select(plan.asked_at, plan.notified_at).where(mine, waits)
            # None if it was answered, or another process sends it.
            locked = connection.execute(unanswered.with_for_update(skip_locked=True)).mappings()
            if not due(locked.one_or_none(), settings, now):
                continue
            try:
                reminder = request["notified_at"] is not None
                send(_message(request, settings, now, reminder=reminder))
            except NotDelivered as error:
                log.warning(
                    "the request to approve drop %s was not sent: %s", request["drop_id"], error
                )
                continue
            sent_at = {"notified_at": clock(connection)}
            connection.execute(update(creation_plan).where(mine).values(sent_at))
            sent += 1
    return sent


def due(request: Any, settings: OnboardingSettings, now: datetime) -> bool:
    """Return whether a request needs a message: the first one, or a reminder. Pure.

    `request` has `asked_at` and `notified_at`. An expired request needs none, nor does None.
    """
    if request is None or now - request["asked_at"] >= timedelta(hours=settings.approval_hours):
        return False
    if request["notified_at"] is None:
        return True
    remind = settings.approval_remind_hours
    return remind is not None and now - request["notified_at"] >= timedelta(hours=remind)


def check(
    connection: Connection, settings: OnboardingSettings, now: datetime | None = None
) -> None:
    """Raise the alarms of requests that wait too long, and close those of answered requests."""
    alarms.decide(connection)
    now, limit = now or clock(connection), settings.approval_alarm_hours
    late, alone, links = {}, {}, Links.of(settings)
    for request in waiting.plans(connection, [*CREATED_BY]):
        flow = CREATED_BY[request["resource"]].dag_id
        about = {
            "flow": flow,
            "dag_run_id": request["dag_run_id"],
            "since": request["asked_at"],
        }
        approvers = settings.approvers.get(REMOTES[request["resource"]].resource.inbox)
        if approvers and {*approvers} <= {*request["excluded"]}:
            alone[f"{flow} drop {request['drop_id']} approver"] = about | {
                "detail": f"Every approver of drop {request['drop_id']} submitted it or triggered its run."
            }
        if limit is None or now - request["asked_at"] < timedelta(hours=limit):
            continue
        late[f"{flow} drop {request['drop_id']} approval"] = about | {
            "detail": f"{request['counts']['create']} records of drop {request['drop_id']} wait for an "
            f"approval since {links.time(request['asked_at'])}."
        }
    alarms.update_all(connection, ALARM, late, ANSWERED)
    alarms.update_all(connection, NO_OTHER, alone, ANSWERED)


def _message(
    request: Any, settings: OnboardingSettings, now: datetime, *, reminder: bool
) -> Notice:
    asked = approval_request.ask(
        ApprovalRequest(
            request["drop_id"],
            request["resource"],
            request["plan_id"],
            request["counts"],
            [ApprovalReason(**each) for each in request["asked_because"]],
        ),
        settings,
        now - request["asked_at"],
    )
    flow = CREATED_BY[request["resource"]].dag_id
    return asked.notice(Links.of(settings).approval(flow, request["dag_run_id"]), reminder=reminder)
