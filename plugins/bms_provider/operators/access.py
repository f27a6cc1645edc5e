"""Operator for the token operation: the scopes of the connection's credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bms.endpoints import BY_NAME, Endpoint
from bms_provider.hooks.bms import missing_scopes
from bms_provider.operators.base import BmsOperator

if TYPE_CHECKING:
    from bms.client import Client


class BmsCheckAccessOperator(BmsOperator):
    """Request a token and return what it allows (POST /v1/token).

    :return: to XCom: the granted ``scopes`` and the ``missing`` ones (both None if the service does
        not report scopes) and ``expires_in_s``, the remaining seconds of the token (None if
        unknown). The token itself stays in the memory of the task.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["request_token"]

    async def call(self, client: Client) -> dict[str, Any]:
        """Request a token."""
        access = await client.access()
        return {
            "scopes": None if access.scopes is None else sorted(access.scopes),
            "missing": missing_scopes(access),
            "expires_in_s": access.expires_in_s,
        }
