"""Test of a connection: what its token allows, and what to check without one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bms_provider.hooks.connection import FIELDS

if TYPE_CHECKING:
    from bms.errors import BmsError
    from bms.responses import Access
    from bms.settings import ClientSettings

TEST_SECONDS = 10.0
"""Longest time of one request in a connection test, which runs inside the API server."""


async def request_access(settings: ClientSettings) -> Access:
    """Request a token in one attempt with a short timeout; raise the client's errors."""
    from bms.client import Client  # noqa: PLC0415

    hurried = replace(settings, attempts=1, timeout=min(settings.timeout, TEST_SECONDS))
    async with Client(hurried) as client:
        return await client.access()


def missing_scopes(access: Access) -> list[str] | None:
    """Return the scopes that some operation needs and the token lacks; None if they are unknown."""
    from bms.endpoints import ENDPOINTS  # noqa: PLC0415

    if access.scopes is None:
        return None
    return sorted({endpoint.scope for endpoint in ENDPOINTS if endpoint.scope} - access.scopes)


def describe_access(access: Access) -> str:
    """Return in a sentence what a token allows."""
    life = access.expires_in_s
    validity = "" if life is None else f", valid for {life:.0f} seconds"
    missing = missing_scopes(access)
    if access.scopes is None or missing is None:
        return f"Token received{validity}. The service does not report which scopes it grants."
    granted = ", ".join(sorted(access.scopes))
    return f"Token received{validity}. Granted: {granted}. Missing: {', '.join(missing) or 'none'}."


def remedy(error: BmsError) -> str:
    """Return what the user should check if no token was received."""
    from bms import errors  # noqa: PLC0415

    host = FIELDS["base_url"]
    if error.status in {404, 405}:
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
        (errors.Timeout, f"Check {host}, its port and {FIELDS['proxies']}."),
        (errors.Redirected, f"Set {host} to the address that the redirect names."),
        (
            errors.MalformedResponse,
            f"The server may not be the service. Check {host} and its path.",
        ),
        (errors.Throttled, "The service limits the request rate. Test again later."),
        (errors.ServiceUnavailable, "The service is failing. Test again later."),
    )
    return next((text for kind, text in remedies if isinstance(error, kind)), "")
