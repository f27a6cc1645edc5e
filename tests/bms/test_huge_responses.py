"""Tests of responses of a gigabyte: typed errors, in memory once at most."""

import asyncio
import json
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bms.transport import MAX_RESPONSE
from tests.bms.fake_services import INVOICE, TOKEN

MIB = 1 << 20
HUGE = 1024 * MIB
ROOM = 48 * MIB
"""Memory besides the response: buffers of the connection, the decoder and Python."""
ROWS = b"[" + b",".join([json.dumps(INVOICE).encode()] * 9_000)
"""The beginning of a list, about a megabyte; repeated after `,`, it continues the list."""
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"

Answering = Callable[[asyncio.StreamWriter], Awaitable[None]]

pytestmark = pytest.mark.prove


async def send(writer: asyncio.StreamWriter, piece: bytes, most: int = HUGE) -> None:
    """Send `piece` repeatedly, `most` bytes in total."""
    for _ in range(most // len(piece)):
        writer.write(piece)
        await writer.drain()


async def chunked(writer: asyncio.StreamWriter) -> None:
    """Send a list in chunks, valid JSON up to its end."""
    rows = b"," + ROWS[1:]
    writer.write(OK + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(ROWS), ROWS))
    await send(writer, b"%x\r\n%b\r\n" % (len(rows), rows))
    writer.write(b"1\r\n]\r\n0\r\n\r\n")


async def sized(writer: asyncio.StreamWriter) -> None:
    """Send a gigabyte with its Content-Length."""
    writer.write(OK + b"Content-Length: %d\r\n\r\n" % HUGE)
    await send(writer, b" " * MIB)


async def declared_too_long(writer: asyncio.StreamWriter) -> None:
    """Send a short body with a Content-Length of a gigabyte."""
    writer.write(OK + b"Content-Length: %d\r\n\r\n[]" % HUGE)


async def declared_too_short(writer: asyncio.StreamWriter) -> None:
    """Send a gigabyte with a Content-Length of 99 bytes."""
    writer.write(OK + b"Content-Length: 99\r\n\r\n")
    await send(writer, ROWS)


async def just_within(writer: asyncio.StreamWriter) -> None:
    """Send an empty list of the maximum size."""
    writer.write(OK + b"Content-Length: %d\r\n\r\n" % MAX_RESPONSE)
    await send(writer, b" " * MIB, MAX_RESPONSE - MIB)
    writer.write(b" " * (MIB - 2) + b"[]")


@cache
def packed() -> bytes:
    """Return a compressed megabyte that expands to a gigabyte."""
    packer = zlib.compressobj(level=1, wbits=31)
    blanks = [packer.compress(b" " * MIB) for _ in range(HUGE // MIB)]
    return b"".join([*blanks, packer.compress(b"[]"), packer.flush()])


async def bomb(writer: asyncio.StreamWriter) -> None:
    """Send a body that expands a hundredfold, with its Content-Length."""
    assert len(packed()) < HUGE // 100
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    writer.write(head % len(packed()) + packed())


@asynccontextmanager
async def service(answer: Answering) -> AsyncIterator[str]:
    """Run a service that responds to every request but a token request by `answer`."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split()
        await reader.readexactly(int(length[0]) if length else 0)
        try:
            if b"/v1/token" in head:
                body = json.dumps({"access_token": TOKEN, "expires_in": 3600}).encode()
                writer.write(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            else:
                await answer(writer)
            await writer.drain()
        except ConnectionError:
            return  # the client closed the connection
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def called(url: str, operation: str, project: Path) -> Any:
    """Call an operation in a separate process; return its output."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bms.repeated_call", url, operation),
        cwd=project,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(output)


REFUSED = {
    "list_client_invoices": ("RangeRefused", "a shorter range may succeed"),
    "list_contacts": ("TooLarge", "a smaller page_size may succeed"),
    "list_employees": ("TooLarge", "check base_url"),
    "create_contact": ("AmbiguousWrite", "response too large"),
}
# Bytes after the declared end break the connection, before or after the client reads the end.
BROKEN = {"MalformedResponse", "ConnectionFailed"}


@pytest.mark.parametrize(
    ("answer", "operation", "kinds", "advice", "most"),
    [
        *(
            (answer, operation, {kind}, advice, MAX_RESPONSE)
            for answer in (chunked, sized, declared_too_long, bomb)
            for operation, (kind, advice) in REFUSED.items()
        ),
        (declared_too_short, "list_contacts", BROKEN, "", 0),
        (declared_too_short, "create_contact", {"AmbiguousWrite"}, "", 0),
        (just_within, "list_employees", set(), "", MAX_RESPONSE),
    ],
)
async def test_a_gigabyte_raises_its_error_and_is_in_memory_once_at_most(
    project: Path,
    figure: Callable[[str], None],
    answer: Answering,
    operation: str,
    kinds: set[str],
    advice: str,
    most: int,
) -> None:
    async with service(answer) as url:
        output = await called(url, operation, project)
    assert set(output["kinds"]) <= kinds
    assert len(output["kinds"]) == 2 * bool(kinds)
    assert set(output["tries"]) <= {1}
    assert all(advice in text for text in output["texts"])
    assert output["held"] < most + ROOM
    figure(
        f"{answer.__name__} to {operation}: {output['kinds'][:1]}, {output['held'] // MIB} MiB held, {output['most'] // MIB} in all"
    )
