"""Access to the TCP connection of a request, to reset, close or delay it.

ASGI hides the transport, so the protocol class adds it to the scope as an extension.
"""

import asyncio
import socket
import struct
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.auto import AutoHTTPProtocol

EXTENSION = "bms_sandbox.transport"


class TransportProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]  # uvicorn picks it at run time
    """HTTP protocol of uvicorn with the transport in the scope."""

    def __init__(self, config: Config, *args: Any, **settings: Any) -> None:
        super().__init__(config, *args, **settings)
        self._served: ASGIApp = config.loaded_app
        self.app = self._serve

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {EXTENSION: self.transport}
        await self._served(scope, receive, send)


class Listener:
    """Accept connections of a listening socket; can pause."""

    def __init__(
        self, listening: socket.socket, backlog: int, protocol: Callable[[], asyncio.Protocol]
    ) -> None:
        listening.setblocking(False)
        self._listening, self._backlog, self._protocol = listening, backlog, protocol
        self._accepting: asyncio.Task[None] | None = None
        self._opening: asyncio.TimerHandle | None = None
        self._full: list[socket.socket] = []

    def open(self) -> None:
        """Accept connections."""
        self.close()
        self._listening.listen(self._backlog)
        self._accepting = asyncio.create_task(self._accept())

    def close(self) -> None:
        """Stop accepting connections; open connections continue."""
        for made in self._full:
            made.close()
        self._full.clear()
        if self._accepting is not None:
            self._accepting.cancel()
        if self._opening is not None:
            self._opening.cancel()

    def pause(self, seconds: float) -> None:
        """Establish no connection for `seconds`.

        The kernel completes connections while the backlog has room. Reduce the backlog to one and
        fill it with a connection of our own, so that the kernel ignores further attempts.
        """
        self.close()
        self._listening.listen(0)
        own = socket.socket(self._listening.family)
        own.setblocking(False)
        own.connect_ex(self._listening.getsockname())
        self._full.append(own)
        self._opening = asyncio.get_running_loop().call_later(seconds, self.open)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            # A peer may close the connection before it is served.
            with suppress(ConnectionError):
                connection, _ = await loop.sock_accept(self._listening)
                await loop.connect_accepted_socket(self._protocol, connection)


def transport_of(scope: MutableMapping[str, Any]) -> asyncio.Transport:
    """Return the transport of a request."""
    transport: asyncio.Transport = scope["extensions"][EXTENSION]
    return transport


async def reset(scope: Scope, receive: Receive) -> None:
    """Reset the connection: the next read or write of the peer fails."""
    transport = transport_of(scope)
    connection = transport.get_extra_info("socket")
    # A linger time of zero makes the kernel send RST instead of FIN.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
    await gone(receive)


async def close(scope: Scope, receive: Receive) -> None:
    """Close the connection normally after the data written so far."""
    transport_of(scope).close()
    await gone(receive)


async def gone(receive: Receive) -> None:
    """Wait until the server has noticed the end of the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
