"""What the token of a connection allows, and what to check after an error."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from bms_provider.hooks.connection import FIELDS, remarks

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from bms.errors import BmsError
    from bms.responses import Access
    from bms.settings import ClientSettings

TEST_SECONDS = 10.0
"""Longest time of one request in a connection test, which runs inside the API server."""


def hurried(settings: ClientSettings) -> ClientSettings:
    """Return settings for one attempt with a short timeout."""
    return replace(settings, attempts=1, timeout=min(settings.timeout, TEST_SECONDS))


def describe_access(access: Access) -> str:
    """Return in a sentence what a token allows."""
    life = access.expires_in_s
    validity = "" if life is None else f", valid for {life:.0f} seconds"
    missing = access.missing()
    if access.scopes is None or missing is None:
        return f"Token received{validity}. The service does not report which scopes it grants."
    granted = ", ".join(sorted(access.scopes))
    return f"Token received{validity}. Granted: {granted}. Missing: {', '.join(missing) or 'none'}."


def not_found(conn_id: str) -> str:
    """Return what the user should check if Airflow finds no connection; it skips unreadable ones."""
    variable = f"AIRFLOW_CONN_{conn_id.upper()}"
    if os.environ.get(variable):
        return (
            f"Airflow cannot read {variable}. Check its form: JSON with conn_type, host, login, password"
            " and extra, or a URI whose parts are percent-encoded."
        )
    return (
        f"The connection {conn_id} is in no variable and no secrets backend. Set {variable}. If it is in"
        f" Airflow's database, run airflow connections test {conn_id}."
    )


def advice(error: BmsError, connection: Connection, base_url: str) -> str:
    """Return which connection and host an error is about, and what the user should check."""
    parts = [f"Connection {connection.conn_id}, {base_url}", remedy(error), remarks(connection)]
    return ". ".join(part.removesuffix(".") for part in parts if part) + "."


def remedy(error: BmsError) -> str:
    """Return what the user should check after an error."""
    from bms import errors  # noqa: PLC0415

    host = FIELDS["base_url"]
    of_token = error.endpoint == "request_token"
    if of_token and error.status in {404, 405}:
        return f"A server responded, but not the service. Check {host} and its path, without /v1."
    remedies: tuple[tuple[type[BmsError], str], ...] = (
        (
            errors.TokenRefused,
            f"Check {FIELDS['client_id']}, {FIELDS['application_id']} and {FIELDS['secret']}.",
        ),
        (
            errors.ConnectionFailed,
            f"Check {host}, its port, {FIELDS['proxies']} and, for https, {FIELDS['verify']}.",
        ),
        (errors.NoResponse, f"Check {host}, its port and {FIELDS['proxies']}."),
        (errors.Redirected, f"Set {host} to the address that the redirect names."),
        (errors.Throttled, "The service limits the request rate. Try again later."),
        (errors.Distress, "The service is failing. Try again later."),
    )
    if error.endpoint.startswith("list_") and isinstance(error, errors.NotFound):
        return f"If the list has no rows, set {FIELDS['empty_list_404']} to true."
    if of_token and isinstance(error, errors.MalformedResponse):
        return f"The server may not be the service. Check {host} and its path."
    if getattr(error, "reason", "") == "redirected":
        return f"Set {host} to the address that the redirect names, then clear this task."
    return next((text for kind, text in remedies if isinstance(error, kind)), "")
