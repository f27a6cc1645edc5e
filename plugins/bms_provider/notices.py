"""Messages to the webhook and the mail server of Airflow's connections; `bms_flows` sends them.

The connection `bms_webhook` (type http) names the webhook: it receives `{"text": …}` by POST, and only
a 2xx status counts as delivered. The connection `bms_mail` (type smtp) names the mail server and the
sender, `BMS_NOTICE_TO` the recipients. Mail requires TLS and a trusted certificate.
"""

import logging
from base64 import b64encode
from collections.abc import Mapping
from functools import partial
from typing import Any

from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from bms_flows.monitoring import alarms, approvals, channels
from bms_flows.monitoring.channels import NO_ATTACHMENTS, Encryption, MailServer
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.notice import ChannelError, Links, NotDelivered, Notice, Send, broadcast
from bms_flows.runtime.settings import FlowSettings

WEBHOOK_CONN_ID, MAIL_CONN_ID = "bms_webhook", "bms_mail"
HTTP_OPTIONS = {
    *("allow_redirects", "cert", "check_response", "max_redirects", "proxies", "proxy"),
    *("srv_lookup", "stream", "timeout", "trust_env", "verify", "verify_ssl"),
}
"""Extras of a connection of type http that are no headers."""

log = logging.getLogger(__name__)


def deliver(flow: FlowContext) -> int:
    """Send the alarms and recoveries that are not sent yet; return the number of messages.

    Raises `NotDelivered` if no channel accepts a message; the next call sends it again.
    """
    found = channel(flow.settings)
    if found is None:
        log.warning("Alarms not sent: configure %s or %s", WEBHOOK_CONN_ID, MAIL_CONN_ID)
        return 0
    return alarms.deliver(flow.warehouse, found, Links.of(flow.settings))


def channel(settings: FlowSettings, to: str = "") -> Send | None:
    """Return the channel to a mail address or to the webhook of a connection id, by default those of the alarms; None without one."""
    if "@" in to:
        return broadcast({MAIL_CONN_ID: partial(_mail, to=to)})
    found = {to: partial(_post, conn_id=to)} if to else configured(settings)
    return broadcast(found) if found else None


def mail_report(settings: FlowSettings, notice: Notice, workbook: Mapping[str, bytes]) -> None:
    """Mail the invoice report to `BMS_REPORT_TO`; raise `NotDelivered`."""
    broadcast({MAIL_CONN_ID: lambda each: _mail(each, settings.report_to, workbook)})(notice)


def send(notice: Notice, settings: FlowSettings, to: str = "") -> None:
    """Send a message to a `channel`; raise `NotDelivered`."""
    found = channel(settings, to)
    if found is None:
        raise NotDelivered(f"configure {WEBHOOK_CONN_ID} or {MAIL_CONN_ID}")
    found(notice)


def notify_approvers(flow: FlowContext, settings: OnboardingSettings) -> int:
    """Send the requests for approval and the reminders that are due; return their number."""
    return approvals.notify(flow.warehouse, partial(to_approvers, settings), settings)


def to_approvers(settings: OnboardingSettings, inbox: str) -> Send | None:
    """Return the channel to the approvers of an inbox, None if no channel is configured."""
    return channel(settings, settings.approval_notices.get(inbox, ""))


def configured(settings: FlowSettings) -> dict[str, Send]:
    """Return the configured channels by connection id."""
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
    """Post a message to a webhook; raise `ChannelError` unless it answers with a 2xx status."""
    given = BaseHook.get_connection(conn_id)
    address = given.host or ""
    if "://" not in address:
        address = f"{given.schema or 'http'}://{address}"
    if not address.startswith(("http://", "https://")):
        raise ChannelError("the connection's host must be an address, http://… or https://…")
    if given.port:
        address = f"{address}:{given.port}"
    headers = {k: str(v) for k, v in given.extra_dejson.items() if k not in HTTP_OPTIONS}
    if given.login:
        user = f"{given.login}:{given.password or ''}"
        headers["Authorization"] = f"Basic {b64encode(user.encode()).decode()}"
    channels.post(address, notice, headers)


def _mail(notice: Notice, to: str, attachments: Mapping[str, bytes] = NO_ATTACHMENTS) -> None:
    """Mail a message; raise `ChannelError` if TLS is missing and the connection requires it."""
    given = BaseHook.get_connection(MAIL_CONN_ID)
    extra = given.extra_dejson
    sender = extra.get("from_email") or given.login
    if not sender:
        raise ChannelError("the connection has no sender: add the extra from_email")
    verify = extra.get("ssl_context") != "none"
    if not verify:
        log.warning("%s does not check the mail server's certificate", MAIL_CONN_ID)
    MailServer(
        host=given.host or "",
        port=given.port,
        user=given.login or "",
        password=given.password or "",
        sender=sender,
        encryption=_encryption(extra),
        verify=verify,
    ).send(notice, to, attachments)


def _encryption(extra: Mapping[str, Any]) -> Encryption:
    """Return the encryption; raise `ChannelError` for plain text that is not allowed explicitly."""
    off = extra.get("disable_ssl"), extra.get("disable_tls")
    if not all(off):
        return "starttls" if off[0] else "tls"
    if not all(each is True for each in off):
        raise ChannelError(
            "disable_ssl and disable_tls together allow plain text, so no mail was sent. "
            "Remove one of them, or set both to the JSON value true."
        )
    log.warning("%s sends the password and messages in plain text", MAIL_CONN_ID)
    return "off"
