"""Reach the TCP connection under a request, to break it on purpose.

ASGI hides the transport. The protocol class below hands it to the application as an extension
of the scope: it wraps the application per connection, the one place where both are known.
"""

import asyncio
import socket
import struct
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.auto import AutoHTTPProtocol

EXTENSION = "bms_sandbox.transport"


class TransportProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]  # uvicorn picks it at run time
    """uvicorn's HTTP protocol, whichever is installed, with the transport in the scope."""

    def __init__(self, config: Config, *args: Any, **settings: Any) -> None:
        super().__init__(config, *args, **settings)
        self._served: ASGIApp = config.loaded_app
        self.app = self._serve

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {EXTENSION: self.transport}
        await self._served(scope, receive, send)


def transport_of(scope: MutableMapping[str, Any]) -> asyncio.Transport:
    """Return the transport under a request served through TransportProtocol."""
    transport: asyncio.Transport = scope["extensions"][EXTENSION]
    return transport


async def reset(scope: Scope, receive: Receive) -> None:
    """Answer with a TCP reset: nothing more is sent, the peer's next read or write fails."""
    transport = transport_of(scope)
    connection = transport.get_extra_info("socket")
    # A lingering time of zero makes the kernel send RST instead of FIN.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
    await gone(receive)


async def close(scope: Scope, receive: Receive) -> None:
    """End the connection in good order after what is already written, be it complete or not."""
    transport_of(scope).close()
    await gone(receive)


async def gone(receive: Receive) -> None:
    """Wait until the server has noticed that the connection is over."""
    while (await receive())["type"] != "http.disconnect":
        pass
