"""Reach the TCP connection under a request, to break it on purpose.

ASGI hides the transport. The protocol class below hands it to the application as an extension
of the scope: it wraps the application per connection, the one place where both are known.
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
    """uvicorn's HTTP protocol, whichever is installed, with the transport in the scope."""

    def __init__(self, config: Config, *args: Any, **settings: Any) -> None:
        super().__init__(config, *args, **settings)
        self._served: ASGIApp = config.loaded_app
        self.app = self._serve

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {EXTENSION: self.transport}
        await self._served(scope, receive, send)


class Door:
    """Accept connections of a listening socket, except while the door is closed."""

    def __init__(
        self, listening: socket.socket, backlog: int, protocol: Callable[[], asyncio.Protocol]
    ) -> None:
        listening.setblocking(False)
        self._listening, self._backlog, self._protocol = listening, backlog, protocol
        self._accepting: asyncio.Task[None] | None = None
        self._opening: asyncio.TimerHandle | None = None
        self._full: list[socket.socket] = []

    def open(self) -> None:
        """Accept connections from now on."""
        self.close()
        self._listening.listen(self._backlog)
        self._accepting = asyncio.create_task(self._accept())

    def close(self) -> None:
        """Accept no more connections; those that are open go on."""
        for made in self._full:
            made.close()
        self._full.clear()
        if self._accepting is not None:
            self._accepting.cancel()
        if self._opening is not None:
            self._opening.cancel()

    def close_for(self, seconds: float) -> None:
        """Let no connection come about for `seconds`.

        The kernel completes connections by itself as long as it has room for them: the room is
        cut to one and taken, so that it leaves further attempts unanswered.
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
            # A peer may be gone again before its connection is served.
            with suppress(ConnectionError):
                connection, _ = await loop.sock_accept(self._listening)
                await loop.connect_accepted_socket(self._protocol, connection)


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
