"""Storage of responses with new or changed rows, without private fields."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec
import pyarrow as pa
from upath import UPath

from bms.json_content import json_content
from bms_flows.runtime.background import BackgroundWriter
from bms_flows.runtime.storage import atomic_file

_WRITE = msgspec.json.Encoder(decimal_format="number")


class ResponseFiles:
    """Files of responses, separated by line breaks; the first response creates a file."""

    def __init__(self, folder: UPath, stack: ExitStack, writer: BackgroundWriter) -> None:
        self.folder = folder
        self.count = 0
        self._stack = stack
        self._writer = writer
        self._streams: dict[str, Any] = {}

    async def append(self, name: str, body: bytes) -> None:
        """Append a response to file `name`, in the background; raise the error of earlier work."""
        await self._writer.put(self._append, name, body)
        self.count += 1

    def _append(self, name: str, body: bytes) -> None:
        if name not in self._streams:
            file = self._stack.enter_context(atomic_file(self.folder / f"{name}.json.zst"))
            packed = pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd")
            self._streams[name] = self._stack.enter_context(packed)
        self._streams[name].write(body.strip() + b"\n")


@contextmanager
def store_responses(folder: UPath) -> Iterator[ResponseFiles]:
    """Yield the storage of responses in `folder`; its files appear if the block succeeds."""
    # The writer ends first, while its files are open.
    with ExitStack() as stack, BackgroundWriter(waiting=4) as writer:
        yield ResponseFiles(folder, stack, writer)


def without(body: bytes, fields: frozenset[str]) -> bytes:
    """Return a response without `fields` at any depth; `null` if it is nested too deeply to parse."""
    try:
        return _WRITE.encode(_without(json_content(body), fields))
    except RecursionError:
        return b"null"


def only(body: bytes, fields: frozenset[str]) -> bytes:
    """Return a response, a JSON object, reduced to `fields`."""
    content = json_content(body)
    return _WRITE.encode({name: value for name, value in content.items() if name in fields})


def _without(value: Any, fields: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(v, fields) for name, v in value.items() if name not in fields}
    return [_without(v, fields) for v in value] if isinstance(value, list) else value
