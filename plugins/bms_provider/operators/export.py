"""Files that operators write and read below the data root: rows as JSON lines, bodies as JSON."""

import gzip
import hashlib
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


class HashingStream:
    """Writes to a stream, counts the bytes and computes their digest."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()
        self.bytes = 0

    def write(self, content: bytes) -> None:
        """Write bytes."""
        self._stream.write(content)
        self.digest.update(content)
        self.bytes += len(content)

    def flush(self) -> None:
        """Flush the stream; gzip requires the method."""
        self._stream.flush()


class RowsFile:
    """A file of rows while it is written: a JSON object per line, amounts with their exact digits."""

    def __init__(self, path: UPath, stream: IO[bytes]) -> None:
        self._path = path
        self._hashed = HashingStream(stream)
        # Without name and time in the gzip header, equal rows make equal bytes.
        compressed = path.suffix == ".gz"
        self._gzip = gzip.GzipFile("", "wb", 6, self._hashed, 0) if compressed else None
        self._rows = 0

    def add(self, records: Sequence[Record], extra: Mapping[int, Mapping[str, Any]]) -> None:
        """Write records; `extra` has further fields of a record by its index."""
        sink = self._gzip or self._hashed
        for start in range(0, len(records), CHUNK):
            chunk: list[Any] = list(records[start : start + CHUNK])
            for index in extra.keys() & range(start, start + len(chunk)):
                fields = msgspec.structs.asdict(chunk[index - start])
                chunk[index - start] = {**fields, **extra[index]}
            sink.write(JSON.encode_lines(chunk))
        self._rows += len(records)

    def finish(self) -> None:
        """Write the end of the compressed stream."""
        if self._gzip:
            self._gzip.close()

    def summary(self) -> dict[str, Any]:
        """Return path, number of rows, SHA-256 of the stored bytes and their number, after `finish`."""
        return {
            "path": str(self._path),
            "rows": self._rows,
            "sha256": self._hashed.digest.hexdigest(),
            "bytes": self._hashed.bytes,
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
