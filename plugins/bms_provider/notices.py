"""Messages through Airflow's HTTP and SMTP providers, to a chat webhook and by mail.

The connection `bms_webhook` (type http) names the webhook: it receives `{"text": …}` by POST, and only
a 2xx status counts as delivered. The connection `bms_mail` (type smtp) names the mail server and the
sender, `BMS_NOTICE_TO` the recipients. Mail requires TLS and a trusted certificate.
"""

from __future__ import annotations

import html
import logging
import re
from smtplib import SMTPNotSupportedError
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from bms_flows.monitoring import alarms
from bms_flows.monitoring.channels import TIMEOUT, payload, require_accepted
from bms_flows.onboarding.inbox.settings import InboxSettings
from bms_flows.runtime.notice import ChannelError, Links, Notice, Send, broadcast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Connection

    from bms_flows.runtime.context import FlowContext
    from bms_flows.runtime.settings import FlowSettings

WEBHOOK_CONN_ID, MAIL_CONN_ID = "bms_webhook", "bms_mail"
ADDRESS = re.compile(r"https?://\S+")

log = logging.getLogger(__name__)


def deliver(flow: FlowContext) -> int:
    """Send the alarms and recoveries that are not sent yet; return the number of messages.

    Raises `NotDelivered` if no channel accepts a message; the next call sends it again.
    """
    found = channels(flow.settings)
    if not found:
        log.warning("Alarms not sent: configure %s or %s", WEBHOOK_CONN_ID, MAIL_CONN_ID)
        return 0
    return alarms.deliver(flow.warehouse, broadcast(found), Links.of(flow.settings))


def send_to(to: str, notice: Notice) -> None:
    """Send a message to a mail address or to the webhook of a connection id; raise `NotDelivered`."""
    if "@" in to:
        broadcast({MAIL_CONN_ID: lambda each: _mail(each, to)})(notice)
    else:
        broadcast({to: lambda each: _post(each, to)})(notice)


def to_approvers(inbox: str) -> Send | None:
    """Return the channel to the approvers of an inbox, None if no channel is configured."""
    settings = InboxSettings.from_environment()
    if to := settings.approval_notices.get(inbox):
        return lambda notice: send_to(to, notice)
    found = channels(settings)
    return broadcast(found) if found else None


def channels(settings: FlowSettings) -> dict[str, Send]:
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
    from airflow.providers.http.hooks.http import HttpHook  # noqa: PLC0415 - 0.3 s

    _mask_address(BaseHook.get_connection(conn_id).host or "")
    # The provider's check counts a redirect as success and logs the body of an error.
    options = {"timeout": TIMEOUT, "allow_redirects": False, "check_response": False}
    response = HttpHook(http_conn_id=conn_id).run(json=payload(notice), extra_options=options)
    require_accepted(response.status_code)


def _mask_address(address: str) -> None:
    """Mask a webhook's address, and path and query, which error texts show without the host."""
    parts = urlsplit(address)
    for secret in (address, parts.path, parts.query, *parts.path.split("/")):
        if secret:
            mask_secret(secret)


def _mail(notice: Notice, to: str) -> None:
    """Mail a message; raise `ChannelError` if TLS is missing and the connection requires it."""
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier  # noqa: PLC0415 - as above

    _check_encryption(BaseHook.get_connection(MAIL_CONN_ID).extra_dejson)
    notifier = SmtpNotifier(
        to=[each.strip() for each in to.split(",")],
        subject=notice.title,
        html_content=_html(notice),
        smtp_conn_id=MAIL_CONN_ID,
    )
    try:
        notifier.notify({})
    except SMTPNotSupportedError as error:
        raise ChannelError(str(error)) from None  # one of smtplib's fixed texts


def _html(notice: Notice) -> str:
    """Return a paragraph per line, with its addresses as links."""
    lines = (ADDRESS.sub(r'<a href="\g<0>">\g<0></a>', html.escape(line)) for line in notice.lines)
    return "\n".join(f"<p>{line}</p>" for line in lines)


def _check_encryption(extra: Mapping[str, Any]) -> None:
    """Raise `ChannelError` for plain text that is not allowed explicitly; warn about weak settings."""
    off = extra.get("disable_ssl"), extra.get("disable_tls")
    if all(off):  # the provider reads every text as true, also "false"
        if not all(each is True for each in off):
            raise ChannelError(
                "disable_ssl and disable_tls together allow plain text, so no mail was sent. "
                "Remove one of them, or set both to the JSON value true."
            )
        log.warning("%s sends the password and messages in plain text", MAIL_CONN_ID)
    elif extra.get("ssl_context") == "none":
        log.warning("%s does not check the mail server's certificate", MAIL_CONN_ID)
