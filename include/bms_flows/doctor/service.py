"""Checks of the service: connection, credentials, scopes, identity, clock."""

import time
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPException
from typing import Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from sqlalchemy import Connection

from bms.client import Client
from bms.errors import BmsError, InvalidTlsFile, TokenRefused
from bms.retry import http_date
from bms.settings import ClientSettings
from bms.sync_client import SyncClient
from bms_flows.doctor.finding import Finding, NotChecked
from bms_flows.runtime.service_identity import ServiceIdentity, current

VARIABLE: Final = "AIRFLOW_CONN_BMS_DEFAULT"
TIMEOUT_S: Final = 10.0
CLOCK_S: Final = 30.0
"""Seconds; a Date header is exact to one second, and a gateway may store it for some."""


def access(settings: ClientSettings) -> Iterator[Finding]:
    """Yield why no token is issued, or the scopes that it lacks."""
    try:
        with SyncClient(Client(replace(settings, attempts=1, timeout=TIMEOUT_S))) as client:
            found = client.access()
    except TokenRefused as error:
        yield Finding("TokenRefused", str(error))
    except InvalidTlsFile as error:
        yield Finding("connection_invalid", f"{error.setting} {error.problem}.")
    except BmsError as error:
        yield Finding("service_unreachable", str(error))
    else:
        if missing := found.missing():
            yield Finding("MissingScope", f"The token lacks {', '.join(missing)}.")


def identity(connection: Connection, settings: ClientSettings) -> Iterator[Finding]:
    """Yield a connection to another service than the one that fills the warehouse."""
    stored = current(connection)
    given = ServiceIdentity.of(settings.base_url, settings.application_id)
    if stored and stored != given:
        differs = "another host" if stored.host != given.host else "another application id"
        yield Finding(
            "ServiceMismatch",
            f"The warehouse is filled from {stored.host}; the connection has {differs}.",
        )


def clocks(settings: ClientSettings) -> Iterator[Finding]:
    """Yield a difference between this machine's clock and the service's, by its Date header."""
    if settings.verify is not True or settings.cert or settings.proxies:
        raise NotChecked("the clock is read without the connection's certificates and proxies")
    try:
        with urlopen(Request(settings.base_url, method="HEAD"), timeout=10) as answer:  # noqa: S310 - http or https
            header = answer.headers.get("Date")
    except HTTPError as error:
        header = error.headers.get("Date")
        error.close()
    except (OSError, HTTPException):
        return  # `access` names the cause
    try:
        skew = abs(time.time() - http_date(header or ""))
    except ValueError:
        raise NotChecked("the service sends no readable Date header") from None
    if skew > CLOCK_S:
        yield Finding("clock_skew", f"This machine and the service differ by {skew:.0f} s.")
