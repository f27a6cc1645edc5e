"""Operator for the token operation: the scopes of the connection's credentials."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar

from bms.endpoints import BY_NAME, Endpoint, named
from bms_provider.hooks.access import describe_access
from bms_provider.operators.base import BmsOperator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bms.client import Client

log = logging.getLogger(__name__)


class BmsCheckAccessOperator(BmsOperator):
    """Request a token and return what it allows (POST /v1/token).

    As the first task of a DAG, it reports wrong credentials and missing scopes once.

    :param requires: names of operations that the token must allow, for example ``["list_contacts"]``.
        If a scope is missing, the task fails with `MissingScope`, without a retry.
    :return: to XCom: the granted ``scopes``, the ``missing`` scopes (both None if the service does not
        report scopes), and ``expires_in_s`` (None if unknown); never the token.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["request_token"]

    def __init__(self, *, requires: str | Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.requires = [requires] if isinstance(requires, str) else [*requires]
        named(self.requires)

    async def call(self, client: Client) -> dict[str, Any]:
        """Request a token; raise `MissingScope` if it lacks a scope of `requires`."""
        from bms.scopes import require_scopes  # noqa: PLC0415 - operators import only the client's table

        access = await client.access()
        log.info(describe_access(access))
        require_scopes(named(self.requires), access.scopes)
        return {
            "scopes": None if access.scopes is None else sorted(access.scopes),
            "missing": access.missing(),
            "expires_in_s": access.expires_in_s,
        }
