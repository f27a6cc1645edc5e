"""The sender of messages: a webhook and a mail server, from the settings or from Airflow's connections."""

import html
import json
import logging
import re
import smtplib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Literal
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request

from bms_flows.runtime.notice import ChannelError, Notice, Send
from bms_flows.runtime.opener import OPENER
from bms_flows.runtime.settings import FlowSettings, InvalidSetting

log = logging.getLogger(__name__)

TIMEOUT = 10
"""Timeout of a channel in seconds."""
PLAIN_TEXT = "tls=off"
"""Query of `BMS_NOTICE_SMTP` that allows a mail server without TLS."""
Encryption = Literal["tls", "starttls", "off"]
PORTS: Mapping[Encryption, int] = {"tls": 465, "starttls": 587, "off": 587}
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
NO_ATTACHMENTS: Mapping[str, bytes] = {}
ADDRESS = re.compile(r"https?://\S+")


def channels(settings: FlowSettings) -> dict[str, Send]:
    """Return the channels of the settings; raise `InvalidSetting` for an incomplete one."""
    found: dict[str, Send] = {}
    if settings.notice_webhook:
        if not _is_address(settings.notice_webhook):
            raise InvalidSetting("BMS_NOTICE_WEBHOOK must be an address, http://… or https://…")
        found["webhook"] = lambda notice: post(settings.notice_webhook, notice)
    if settings.notice_smtp:
        server = _mail_server(settings)
        found["mail"] = lambda notice: server.send(notice, settings.notice_to)
    return found


def _is_address(text: str) -> bool:
    try:
        return ADDRESS.fullmatch(text) is not None and bool(urlsplit(text).hostname)
    except ValueError:  # such as a bracket that is not closed
        return False


def post(url: str, notice: Notice, headers: Mapping[str, str] | None = None) -> None:
    """Post a notice to a webhook as `{"text": …}`, the form that chats accept.

    Raises `ChannelError` for every response except a 2xx of this address, `OSError` without a response.
    """
    request = Request(  # noqa: S310 - callers accept http and https alone
        url,
        data=json.dumps({"text": notice.text}).encode(),
        headers={"Content-Type": "application/json", **(headers or {})},
    )
    try:
        with OPENER.open(request, timeout=TIMEOUT) as response:
            status = response.status
    except HTTPError as error:
        error.close()
        status = error.code
    if 300 <= status < 400:  # noqa: PLR2004 - the class of statuses that redirect
        raise ChannelError(f"responded with {status}, a redirect, which is not followed")
    if not 200 <= status < 300:  # noqa: PLR2004 - the class of statuses that accept
        raise ChannelError(f"responded with {status}")


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """A mail server, and the sender of the mails."""

    host: str
    port: int | None = None
    """By default the port of the encryption."""
    user: str = ""
    password: str = field(default="", repr=False)
    sender: str
    encryption: Encryption = "tls"
    verify: bool = True
    """Whether the server must show a trusted certificate."""

    def send(
        self, notice: Notice, to: str, attachments: Mapping[str, bytes] = NO_ATTACHMENTS
    ) -> None:
        """Mail a notice as text and as HTML with links, over TLS unless `encryption` is off.

        `attachments` are workbooks by name.

        Raises `ChannelError` before any password or notice is sent if the server offers no TLS; `OSError`
        if the certificate is not trusted or the server refuses the mail.
        """
        message = EmailMessage()
        message["Subject"] = notice.title
        message["From"] = self.sender
        message["To"] = to
        message.set_content(notice.body)
        linked = (
            ADDRESS.sub(r'<a href="\g<0>">\g<0></a>', html.escape(line)) for line in notice.lines
        )
        message.add_alternative("\n".join(f"<p>{line}</p>" for line in linked), subtype="html")
        for name, content in attachments.items():
            kind, _, subtype = XLSX.partition("/")
            message.add_attachment(content, maintype=kind, subtype=subtype, filename=name)
        context = ssl.create_default_context()
        if not self.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        address = self.host, self.port or PORTS[self.encryption]
        with (
            smtplib.SMTP_SSL(*address, timeout=TIMEOUT, context=context)
            if self.encryption == "tls"
            else smtplib.SMTP(*address, timeout=TIMEOUT)
        ) as server:
            if self.encryption == "starttls":
                server.ehlo()
                if not server.has_extn("starttls"):
                    raise ChannelError(
                        "the mail server offers no STARTTLS, so nothing was sent: use TLS from the "
                        f"start (smtps://), or allow plain text (?{PLAIN_TEXT})"
                    )
                server.starttls(context=context)
            if self.user:
                server.login(self.user, self.password)
            # Only a refusal of all recipients raises.
            if refused := server.send_message(message):
                text = "The mail server refused %d of the recipients: check their addresses"
                log.warning(text, len(refused))


def _mail_server(settings: FlowSettings) -> MailServer:
    """Return the mail server of `BMS_NOTICE_SMTP`; raise `InvalidSetting`."""
    try:
        parts = urlsplit(settings.notice_smtp)
        port = parts.port
    except ValueError:  # whose text quotes a part of the password
        parts, port = urlsplit(""), None
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.path or parts.fragment:
        raise InvalidSetting(
            "BMS_NOTICE_SMTP must be smtp://user:password@host:587 or smtps://…, special characters of the"
            " password percent-encoded: %2F for a slash"
        )
    if parts.query not in ("", PLAIN_TEXT) or (parts.query and parts.scheme == "smtps"):
        raise InvalidSetting(f"BMS_NOTICE_SMTP accepts one option: ?{PLAIN_TEXT}, with smtp://")
    if not (settings.notice_to and settings.notice_from):
        raise InvalidSetting("BMS_NOTICE_SMTP also needs BMS_NOTICE_TO and BMS_NOTICE_FROM")
    encryption: Encryption = "off" if parts.query else "starttls"
    return MailServer(
        host=parts.hostname,
        port=port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        sender=settings.notice_from,
        encryption="tls" if parts.scheme == "smtps" else encryption,
    )
