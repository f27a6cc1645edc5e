"""Answers of a gigabyte for real: told as what they are, without being held twice or waited for."""

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
"""Memory beside the answer: buffers of the connection, the decoder, what Python keeps."""
ROWS = b"[" + b",".join([json.dumps(INVOICE).encode()] * 9_000)
"""The beginning of a list, about a megabyte; `,` and it again is a list that goes on."""
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"

Answering = Callable[[asyncio.StreamWriter], Awaitable[None]]

pytestmark = [pytest.mark.prove, pytest.mark.timeout(300)]


async def send(writer: asyncio.StreamWriter, piece: bytes, most: int = HUGE) -> None:
    """Send `piece` again and again, `most` bytes in all."""
    for _ in range(most // len(piece)):
        writer.write(piece)
        await writer.drain()


async def streamed(writer: asyncio.StreamWriter) -> None:
    """A list in chunks, good JSON as far as it is read."""
    rows = b"," + ROWS[1:]
    writer.write(OK + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(ROWS), ROWS))
    await send(writer, b"%x\r\n%b\r\n" % (len(rows), rows))
    writer.write(b"1\r\n]\r\n0\r\n\r\n")


async def announced(writer: asyncio.StreamWriter) -> None:
    """The same with its length said beforehand, rightly."""
    writer.write(OK + b"Content-Length: %d\r\n\r\n" % HUGE)
    await send(writer, b" " * MIB)


async def said_too_long(writer: asyncio.StreamWriter) -> None:
    """A short answer that is said to be a gigabyte."""
    writer.write(OK + b"Content-Length: %d\r\n\r\n[]" % HUGE)


async def said_too_short(writer: asyncio.StreamWriter) -> None:
    """A gigabyte that is said to be 99 bytes."""
    writer.write(OK + b"Content-Length: 99\r\n\r\n")
    await send(writer, ROWS)


async def just_within(writer: asyncio.StreamWriter) -> None:
    """A list without rows, as long as an answer may be."""
    writer.write(OK + b"Content-Length: %d\r\n\r\n" % MAX_RESPONSE)
    await send(writer, b" " * MIB, MAX_RESPONSE - MIB)
    writer.write(b" " * (MIB - 2) + b"[]")


@cache
def packed() -> bytes:
    """A megabyte that unpacks to a gigabyte."""
    packer = zlib.compressobj(level=1, wbits=31)
    blanks = [packer.compress(b" " * MIB) for _ in range(HUGE // MIB)]
    return b"".join([*blanks, packer.compress(b"[]"), packer.flush()])


async def bomb(writer: asyncio.StreamWriter) -> None:
    """What unpacks a hundredfold and more, its length said beforehand, rightly."""
    assert len(packed()) < HUGE // 100
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    writer.write(head % len(packed()) + packed())


@asynccontextmanager
async def service(answer: Answering) -> AsyncIterator[str]:
    """A service that says to every request but for a token what `answer` writes."""

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
            return  # the client has heard enough
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def called(url: str, operation: str, project: Path) -> Any:
    """Let a process of its own call an operation; return what it tells."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bms.one_call", url, operation),
        cwd=project,
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(told)


@pytest.mark.parametrize("answer", [streamed, announced, said_too_long, bomb])
@pytest.mark.parametrize(
    ("operation", "kind", "advice"),
    [
        ("list_client_invoices", "RangeRefused", "a shorter range may succeed"),
        ("list_contacts", "TooLarge", "a smaller page_size may succeed"),
        ("list_employees", "TooLarge", "check base_url"),
        ("create_contact", "AmbiguousWrite", "response too large"),
    ],
)
async def test_a_gigabyte_is_told_as_what_it_is_and_held_once_at_most(
    project: Path,
    figure: Callable[[str], None],
    answer: Answering,
    operation: str,
    kind: str,
    advice: str,
) -> None:
    async with service(answer) as url:
        told = await called(url, operation, project)
    assert (told["kinds"], told["tries"]) == ([kind] * 2, [1] * 2)
    assert all(advice in text for text in told["texts"])
    assert told["held"] < MAX_RESPONSE + ROOM
    figure(
        f"{answer.__name__} to {operation}: {kind}, {told['held'] // MIB} MiB held, {told['most'] // MIB} in all"
    )


@pytest.mark.parametrize(
    ("operation", "kinds"),
    [
        # What comes after the end breaks the connection, sooner or later than the end is read.
        ("list_contacts", {"MalformedResponse", "ConnectionFailed"}),
        ("create_contact", {"AmbiguousWrite"}),
    ],
)
async def test_of_a_gigabyte_said_to_be_short_no_more_is_read(
    project: Path, operation: str, kinds: set[str]
) -> None:
    async with service(said_too_short) as url:
        told = await called(url, operation, project)
    assert set(told["kinds"]) <= kinds
    assert len(told["kinds"]) == 2
    assert told["held"] < ROOM


async def test_as_much_as_may_be_is_read_and_held_once(
    project: Path, figure: Callable[[str], None]
) -> None:
    async with service(just_within) as url:
        told = await called(url, "list_employees", project)
    assert told["kinds"] == []
    assert told["held"] < MAX_RESPONSE + ROOM
    figure(
        f"{just_within.__name__}: read, {told['held'] // MIB} MiB held, {told['most'] // MIB} in all"
    )
