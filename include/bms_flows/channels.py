"""Channels that need no Airflow: a webhook and a mail server, by the settings."""

import json
import smtplib
import urllib.request
from email.message import EmailMessage
from typing import Any
from urllib.parse import unquote, urlsplit

from bms_flows.notice import Notice, Send
from bms_flows.settings import BadSetting, Settings

TIMEOUT = 10
"""Seconds that a channel may take."""
PORTS = {"smtp": 587, "smtps": 465}


def channels(settings: Settings) -> dict[str, Send]:
    """Return the channels that the settings name; raise `BadSetting` for one that is half named."""
    found: dict[str, Send] = {}
    if settings.notice_webhook:
        if urlsplit(settings.notice_webhook).scheme not in ("http", "https"):
            raise BadSetting("BMS_NOTICE_WEBHOOK takes an address, http://… or https://…")
        found["webhook"] = lambda notice: post(settings.notice_webhook, notice)
    if settings.notice_smtp:
        if urlsplit(settings.notice_smtp).scheme not in PORTS:
            raise BadSetting("BMS_NOTICE_SMTP takes smtp://user:password@host:587 or smtps://…")
        if not (settings.notice_to and settings.notice_from):
            raise BadSetting("BMS_NOTICE_SMTP needs BMS_NOTICE_TO and BMS_NOTICE_FROM beside it")
        found["mail"] = lambda notice: mail(settings, notice)
    return found


def payload(notice: Notice) -> dict[str, str]:
    """Return a notice as webhooks of chats take it."""
    return {"text": notice.text}


def post(url: str, notice: Notice) -> None:
    """Post a notice to a webhook; raise `OSError` where it doesn't answer with 2xx."""
    body = json.dumps(payload(notice)).encode()
    request = urllib.request.Request(  # noqa: S310 - `channels` takes http and https alone
        url, data=body, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT):  # noqa: S310 - as above
        """It was taken: any other answer raises."""


def mail(settings: Settings, notice: Notice) -> None:
    """Mail a notice, encrypted where the server can; raise `OSError` where it isn't taken."""
    message = EmailMessage()
    message["Subject"] = notice.title
    message["From"] = settings.notice_from
    message["To"] = settings.notice_to
    message.set_content(notice.body)
    parts = urlsplit(settings.notice_smtp)
    kind: Any = smtplib.SMTP_SSL if parts.scheme == "smtps" else smtplib.SMTP
    with kind(parts.hostname, parts.port or PORTS[parts.scheme], timeout=TIMEOUT) as server:
        server.ehlo()
        if parts.scheme == "smtp" and server.has_extn("starttls"):
            server.starttls()
        if parts.username:
            server.login(unquote(parts.username), unquote(parts.password or ""))
        server.send_message(message)
