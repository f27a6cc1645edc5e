"""Notices through Airflow's own notifiers, to those of two connections that are there.

`bms_webhook`, of type http: its address gets `{"text": …}` posted, as chats take it.
`bms_mail`, of type smtp: with its sender; `BMS_NOTICE_TO` names who gets it.
"""

from __future__ import annotations

import html
import logging
from typing import TYPE_CHECKING

from airflow.configuration import conf
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from bms_flows import alarms
from bms_flows.channels import TIMEOUT, payload
from bms_flows.notice import Links, Notice, Send, to_each

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from bms_flows.settings import Settings
    from bms_flows.workplace import Workplace

WEBHOOK_CONN_ID, MAIL_CONN_ID = "bms_webhook", "bms_mail"

log = logging.getLogger(__name__)


def links(settings: Settings) -> Links:
    """Return where messages lead: to this Airflow."""
    return Links.of(settings, conf.get("api", "base_url", fallback=""))


def deliver(place: Workplace) -> int:
    """Tell of every alarm that is to be told of, and return how many messages that were.

    Raises `NotTaken` where no channel takes one; it is told the next time.
    """
    ways = channels(place.settings)
    if not ways:
        log.warning("nobody is told: no connection %s or %s", WEBHOOK_CONN_ID, MAIL_CONN_ID)
        return 0
    return alarms.deliver(place.warehouse, to_each(ways), links(place.settings))


def send_to(to: str, notice: Notice) -> None:
    """Send a notice to an address, or to the webhook of the connection that `to` names; raise `NotTaken`."""
    if "@" in to:
        to_each({MAIL_CONN_ID: lambda each: _mail(each, to)})(notice)
    else:
        to_each({to: lambda each: _post(each, to)})(notice)


def channels(settings: Settings) -> dict[str, Send]:
    """Return the channels that have a connection."""
    found: dict[str, Send] = {}
    if _connection(WEBHOOK_CONN_ID):
        found[WEBHOOK_CONN_ID] = _post
    if _connection(MAIL_CONN_ID) and settings.notice_to:
        found[MAIL_CONN_ID] = lambda notice: _mail(notice, settings.notice_to)
    return found


def _connection(conn_id: str) -> Connection | None:
    try:
        return BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        return None


def _post(notice: Notice, conn_id: str = WEBHOOK_CONN_ID) -> None:
    from airflow.providers.http.notifications.http import HttpNotifier  # noqa: PLC0415 - 0.3 s

    mask_secret(BaseHook.get_connection(conn_id).host)  # a chat's address is its password
    HttpNotifier(
        http_conn_id=conn_id, json=payload(notice), extra_options={"timeout": TIMEOUT}
    ).notify({})


def _mail(notice: Notice, to: str) -> None:
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier  # noqa: PLC0415 - as above

    SmtpNotifier(
        to=[each.strip() for each in to.split(",")],
        subject=notice.title,
        html_content=f"<pre>{html.escape(notice.body)}</pre>",
        smtp_conn_id=MAIL_CONN_ID,
    ).notify({})
