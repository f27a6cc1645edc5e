"""Notification channels without Airflow: a webhook and a mail server, as configured."""

import json
import smtplib
import ssl
import urllib.request
from email.message import EmailMessage
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit

from bms_flows.runtime.notice import ChannelError, Notice, Send
from bms_flows.runtime.settings import FlowSettings, InvalidSetting

TIMEOUT = 10
"""Timeout of a channel in seconds."""
PORTS = {"smtp": 587, "smtps": 465}
PLAIN_TEXT = "tls=off"
"""Query of `BMS_NOTICE_SMTP` that allows a mail server without TLS."""


def channels(settings: FlowSettings) -> dict[str, Send]:
    """Return the configured channels; raise `InvalidSetting` for an incomplete one."""
    found: dict[str, Send] = {}
    if settings.notice_webhook:
        if urlsplit(settings.notice_webhook).scheme not in ("http", "https"):
            raise InvalidSetting("BMS_NOTICE_WEBHOOK must be an address, http://… or https://…")
        found["webhook"] = lambda notice: post(settings.notice_webhook, notice)
    if settings.notice_smtp:
        parts = urlsplit(settings.notice_smtp)
        if parts.scheme not in PORTS:
            raise InvalidSetting(
                "BMS_NOTICE_SMTP must be smtp://user:password@host:587 or smtps://…"
            )
        if parts.query not in ("", PLAIN_TEXT) or (parts.query and parts.scheme == "smtps"):
            raise InvalidSetting(f"BMS_NOTICE_SMTP accepts one option: ?{PLAIN_TEXT}, with smtp://")
        if not (settings.notice_to and settings.notice_from):
            raise InvalidSetting("BMS_NOTICE_SMTP also needs BMS_NOTICE_TO and BMS_NOTICE_FROM")
        found["mail"] = lambda notice: mail(settings, notice)
    return found


def payload(notice: Notice) -> dict[str, str]:
    """Return a notice in the form that chat webhooks accept."""
    return {"text": notice.text}


def require_accepted(status: int) -> None:
    """Raise `ChannelError` unless the status of a webhook response means acceptance."""
    if 300 <= status < 400:  # noqa: PLR2004 - the class of statuses that redirect
        raise ChannelError(f"responded with {status}, a redirect, which is not followed")
    if not 200 <= status < 300:  # noqa: PLR2004 - the class of statuses that accept
        raise ChannelError(f"responded with {status}")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Turns a redirect into an `HTTPError`, so that no other host can accept a notice."""

    def redirect_request(self, *_: Any) -> None:
        """Return no request to follow."""


_OPENER = urllib.request.build_opener(_NoRedirect)


def post(url: str, notice: Notice) -> None:
    """Post a notice to a webhook.

    Raises `ChannelError` for every response except a 2xx of this address, `OSError` without a response.
    """
    request = urllib.request.Request(  # noqa: S310 - `channels` accepts http and https alone
        url,
        data=json.dumps(payload(notice)).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with _OPENER.open(request, timeout=TIMEOUT) as response:
            status = response.status
    except HTTPError as error:
        error.close()
        status = error.code
    require_accepted(status)


def mail(settings: FlowSettings, notice: Notice) -> None:
    """Mail a notice over TLS with a verified certificate, or in plain text if the setting allows it.

    Raises `ChannelError` before any password or notice is sent if the server offers no TLS; `OSError`
    if the certificate is not trusted or the server refuses the mail.
    """
    message = EmailMessage()
    message["Subject"] = notice.title
    message["From"] = settings.notice_from
    message["To"] = settings.notice_to
    message.set_content(notice.body)
    parts = urlsplit(settings.notice_smtp)
    context = ssl.create_default_context()
    address = parts.hostname or "", parts.port or PORTS[parts.scheme]
    server = (
        smtplib.SMTP_SSL(*address, timeout=TIMEOUT, context=context)
        if parts.scheme == "smtps"
        else smtplib.SMTP(*address, timeout=TIMEOUT)
    )
    with server:
        if parts.scheme == "smtp" and parts.query != PLAIN_TEXT:
            server.ehlo()
            if not server.has_extn("starttls"):
                raise ChannelError(
                    "the mail server offers no STARTTLS, so nothing was sent: use smtps://, or "
                    f"add ?{PLAIN_TEXT} to allow plain text"
                )
            server.starttls(context=context)
        if parts.username:
            server.login(unquote(parts.username), unquote(parts.password or ""))
        server.send_message(message)
