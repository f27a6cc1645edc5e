"""Notices through Airflow's HTTP and SMTP providers, over the connections that exist.

`bms_webhook`, of type http: its address receives `{"text": …}` as a POST, the form of chat webhooks.
Only a 2xx of that address counts as delivered. `bms_mail`, of type smtp, names the sender;
`BMS_NOTICE_TO` names the recipients. Mail needs TLS and a trusted certificate.
"""

from __future__ import annotations

import html
import logging
from smtplib import SMTPNotSupportedError
from typing import TYPE_CHECKING, Any

from airflow.configuration import conf
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from bms_flows.monitoring import alarms
from bms_flows.monitoring.channels import TIMEOUT, payload, require_accepted
from bms_flows.runtime.notice import ChannelError, Links, Notice, Send, broadcast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Connection

    from bms_flows.runtime.context import FlowContext
    from bms_flows.runtime.settings import FlowSettings

WEBHOOK_CONN_ID, MAIL_CONN_ID = "bms_webhook", "bms_mail"

log = logging.getLogger(__name__)


def links(settings: FlowSettings) -> Links:
    """Return where messages lead: to this Airflow."""
    return Links.of(settings, conf.get("api", "base_url", fallback=""))


def deliver(flow: FlowContext) -> int:
    """Tell of every alarm that is to be told of, and return how many messages that were.

    Raises `NotTaken` where no channel takes one; it is told the next time.
    """
    ways = channels(flow.settings)
    if not ways:
        log.warning("nobody is told: no connection %s or %s", WEBHOOK_CONN_ID, MAIL_CONN_ID)
        return 0
    return alarms.deliver(flow.warehouse, broadcast(ways), links(flow.settings))


def send_to(to: str, notice: Notice) -> None:
    """Send a notice to an address, or to the webhook of the connection that `to` names; raise `NotTaken`."""
    if "@" in to:
        broadcast({MAIL_CONN_ID: lambda each: _mail(each, to)})(notice)
    else:
        broadcast({to: lambda each: _post(each, to)})(notice)


def channels(settings: FlowSettings) -> dict[str, Send]:
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
    """Post a notice; raise `ChannelError` for every answer but a 2xx of the connection's address."""
    from airflow.providers.http.hooks.http import HttpHook  # noqa: PLC0415 - 0.3 s

    mask_secret(BaseHook.get_connection(conn_id).host)  # a chat's address is its password
    # The provider's own check counts a redirect as success and logs the body of an error.
    options = {"timeout": TIMEOUT, "allow_redirects": False, "check_response": False}
    response = HttpHook(http_conn_id=conn_id).run(json=payload(notice), extra_options=options)
    require_accepted(response.status_code)


def _mail(notice: Notice, to: str) -> None:
    """Mail a notice; raise `ChannelError` where TLS is missing and the connection doesn't allow that."""
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier  # noqa: PLC0415 - as above

    _check_encryption(BaseHook.get_connection(MAIL_CONN_ID).extra_dejson)
    notifier = SmtpNotifier(
        to=[each.strip() for each in to.split(",")],
        subject=notice.title,
        html_content=f"<pre>{html.escape(notice.body)}</pre>",
        smtp_conn_id=MAIL_CONN_ID,
    )
    try:
        notifier.notify({})
    except SMTPNotSupportedError as error:
        raise ChannelError(str(error)) from None  # one of smtplib's fixed texts


def _check_encryption(extra: Mapping[str, Any]) -> None:
    """Refuse plain text unless the connection says `true` twice; warn of what it leaves unprotected."""
    off = extra.get("disable_ssl"), extra.get("disable_tls")
    if all(off):  # as the provider reads the two fields: every text is true, "false" too
        if not all(each is True for each in off):
            raise ChannelError(
                "disable_ssl and disable_tls together allow plain text, so nothing was sent: "
                "remove one of them, or set both to the JSON value true"
            )
        log.warning("%s sends the password and messages in plain text", MAIL_CONN_ID)
    elif extra.get("ssl_context") == "none":
        log.warning("%s doesn't check the mail server's certificate", MAIL_CONN_ID)
