"""The token operation: what the connection's credentials allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bms.endpoints import BY_NAME, Endpoint
from bms_provider.hooks.bms import missing_scopes
from bms_provider.operators.base import BmsOperator

if TYPE_CHECKING:
    from bms.client import Client


class BmsCheckAccessOperator(BmsOperator):
    """Ask for a token and say what it allows (POST /v1/token).

    :param bms_conn_id: connection of type ``bms`` (templated).
    :return: to XCom: ``scopes`` granted and ``missing`` (both None where the service doesn't say)
        and ``expires_in_s``, the seconds that the token lives (None where unknown). The token
        itself stays in the task's memory.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["request_token"]

    async def ask(self, client: Client) -> dict[str, Any]:
        """Ask for a token."""
        access = await client.access()
        return {
            "scopes": None if access.scopes is None else sorted(access.scopes),
            "missing": missing_scopes(access),
            "expires_in_s": access.expires_in_s,
        }
