"""Files that operators write and read below the data root: rows as JSON lines, bodies as JSON."""

import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import IO, Any, Final

import msgspec
from upath import UPath

from bms.records import Record
from bms_provider.files import CHUNK
from bms_provider.flow_context import data_root

JSON: Final = msgspec.json.Encoder(decimal_format="number")
BODY: Final = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)


class BadBody(ValueError):
    """A creation body is missing or no JSON object; the text never quotes it."""

    retriable = False


class RowsFile:
    """A file of rows while it is written: a JSON object per line, amounts with their exact digits."""

    def __init__(self, path: UPath, stream: IO[bytes]) -> None:
        self._path, self._stream = path, stream
        # A gzip header without name and time: equal rows make equal bytes.
        self._gzip = zlib.compressobj(6, wbits=31) if path.suffix == ".gz" else None
        self._digest = hashlib.sha256()
        self._bytes = self._rows = 0

    def add(self, records: Sequence[Record], extra: Mapping[int, Mapping[str, Any]]) -> None:
        """Write records; `extra` has further fields of a record by its index."""
        for start in range(0, len(records), CHUNK):
            chunk: list[Any] = list(records[start : start + CHUNK])
            for index in extra.keys() & range(start, start + len(chunk)):
                fields = msgspec.structs.asdict(chunk[index - start])
                chunk[index - start] = {**fields, **extra[index]}
            lines = JSON.encode_lines(chunk)
            self._write(self._gzip.compress(lines) if self._gzip else lines)
        self._rows += len(records)

    def finish(self) -> None:
        """Write the end of the compressed stream."""
        if self._gzip:
            self._write(self._gzip.flush())

    def _write(self, content: bytes) -> None:
        self._stream.write(content)
        self._digest.update(content)
        self._bytes += len(content)

    def summary(self) -> dict[str, Any]:
        """Return path, number of rows, SHA-256 of the stored bytes and their number, after `finish`."""
        return {
            "path": str(self._path),
            "rows": self._rows,
            "sha256": self._digest.hexdigest(),
            "bytes": self._bytes,
        }


@contextmanager
def rows_file(path: UPath) -> Iterator[RowsFile]:
    """Open a file of rows, compressed if its name ends in `.gz`, that appears when it is complete.

    Rows are personal data: on a local disk, only the owner may read the file, from its first byte.
    Raises `DataRootRefused` if this process may not write below the data root.
    """
    from bms_flows.runtime import storage  # noqa: PLC0415 - keeps the import of operators light

    with storage.explain_refusal(data_root()), storage.atomic_file(path) as stream:
        file = RowsFile(path, stream)
        yield file
        file.finish()


def read_body(path: UPath) -> dict[str, Any]:
    """Read a creation body with exact numbers; raise `BadBody`."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise BadBody("body_path names no file below BMS_DATA_ROOT") from None
    try:
        body = BODY.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = None
    if body is None:  # raised outside `except`, whose error may quote the body
        raise BadBody("body_path: the file must hold one JSON object")
    return body
