"""Answers as they came, of those that brought something; private fields apart or left out."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec
import pyarrow as pa
from upath import UPath

from bms.decoding import exact
from bms_flows.runtime.storage import atomic_file

_READ = msgspec.json.Decoder(float_hook=exact)
_WRITE = msgspec.json.Encoder(decimal_format="number")


class Answers:
    """Files of answers, one after another, a line break between; a file is there once it has one."""

    def __init__(self, folder: UPath, stack: ExitStack) -> None:
        self.folder = folder
        self.kept = 0
        self._stack = stack
        self._streams: dict[str, Any] = {}

    def keep(self, name: str, body: bytes) -> None:
        """Append an answer to file `name`."""
        if name not in self._streams:
            file = self._stack.enter_context(atomic_file(self.folder / f"{name}.json.zst"))
            packed = pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd")
            self._streams[name] = self._stack.enter_context(packed)
        self._streams[name].write(body.strip() + b"\n")
        self.kept += 1


@contextmanager
def answers(folder: UPath) -> Iterator[Answers]:
    """Yield what keeps answers in `folder`; its files appear when the block ends well."""
    with ExitStack() as stack:
        yield Answers(folder, stack)


def without(body: bytes, fields: frozenset[str]) -> bytes:
    """Return an answer without `fields`, wherever in it they are.

    Of one nested too deep to be looked through nothing is left.
    """
    try:
        return _WRITE.encode(_without(_READ.decode(body.removeprefix(b"\xef\xbb\xbf")), fields))
    except RecursionError:
        return b"null"


def only(body: bytes, fields: frozenset[str]) -> bytes:
    """Return an answer, a JSON object, with nothing but `fields`."""
    content = _READ.decode(body.removeprefix(b"\xef\xbb\xbf"))
    return _WRITE.encode({name: value for name, value in content.items() if name in fields})


def _without(value: Any, fields: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(v, fields) for name, v in value.items() if name not in fields}
    return [_without(v, fields) for v in value] if isinstance(value, list) else value
