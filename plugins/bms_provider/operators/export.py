"""What operators write and read below the data root: rows as JSON lines, bodies as JSON."""

from __future__ import annotations

import gzip
import hashlib
import os
from contextlib import contextmanager
from decimal import Decimal
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from bms_provider import workplace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from upath import UPath

    from bms.records import Record

JSON: Final = msgspec.json.Encoder(decimal_format="number")
BODY: Final = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)
CHUNK: Final = 5_000  # rows encoded at once: bounds the bytes in memory


class BadPath(ValueError):
    """A path doesn't lead below the data root."""

    retriable = False


class BadBody(ValueError):
    """There is no file of a creation body, or it holds none; the text never quotes what it holds."""

    retriable = False


def below_root(path: str) -> UPath:
    """Return the file that `path` names: relative to the data root, or a manifest's own path.

    Its store is attached on return, so that nothing is asked of Airflow when it is opened.
    Raises `BadPath` for one that leads elsewhere.
    """
    root = workplace.data_root()
    relative = path.removeprefix(f"{str(root).rstrip('/')}/")
    parts = PurePosixPath(relative).parts
    if not parts or relative.startswith("/") or "://" in relative or ".." in parts:
        raise BadPath(f"{path!r} leads out of BMS_DATA_ROOT; it takes a relative path")
    file = root / relative
    _ = file.fs
    return file


class Tally:
    """Bytes on their way into a file, counted and digested."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()
        self.bytes = 0

    def write(self, content: bytes) -> None:
        """Pass bytes on."""
        self._stream.write(content)
        self.digest.update(content)
        self.bytes += len(content)

    def flush(self) -> None:
        """Pass on that bytes shall not wait (gzip asks for it at its end)."""
        self._stream.flush()


class RowsFile:
    """A file of rows being written: one JSON object to a line, money with its exact digits."""

    def __init__(self, path: UPath, stream: IO[bytes]) -> None:
        self._path = path
        self._tally = Tally(stream)
        # Without name and time in its head, equal rows make equal bytes.
        self._packed = gzip.GzipFile("", "wb", 6, self._tally, 0) if path.suffix == ".gz" else None
        self._rows = 0

    def add(self, records: Sequence[Record], extra: Mapping[int, Mapping[str, Any]]) -> None:
        """Write records; `extra` are further fields of a record, by its index."""
        sink = self._packed or self._tally
        for start in range(0, len(records), CHUNK):
            chunk: list[Any] = list(records[start : start + CHUNK])
            for index in extra.keys() & range(start, start + len(chunk)):
                known = msgspec.structs.asdict(chunk[index - start])
                chunk[index - start] = {**known, **extra[index]}
            sink.write(JSON.encode_lines(chunk))
        self._rows += len(records)

    def finish(self) -> None:
        """Write what compression still holds back."""
        if self._packed:
            self._packed.close()

    def manifest(self) -> dict[str, Any]:
        """Return path, rows, sha256 (of the file as it lies there) and bytes, once it is finished."""
        return {
            "path": str(self._path),
            "rows": self._rows,
            "sha256": self._tally.digest.hexdigest(),
            "bytes": self._tally.bytes,
        }


@contextmanager
def rows_file(path: UPath) -> Iterator[RowsFile]:
    """Open a file of rows (compressed where its name ends in `.gz`) that appears when it is whole.

    Rows are personal data: on a local disk the file is its owner's alone from the first byte on.
    """
    from bms_flows.storage import whole  # noqa: PLC0415 - not wanted at import

    with whole(path) as stream:
        if path.protocol in ("", "file", "local"):
            os.fchmod(stream.fileno(), 0o600)
        file = RowsFile(path, stream)
        yield file
        file.finish()


def read_body(path: UPath) -> dict[str, Any]:
    """Read a creation body, its numbers as exact as they are written; raise `BadBody`."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise BadBody("body_path: there is no such file") from None
    try:
        body = BODY.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = None
    if body is None:  # outside `except`: its error may quote the body
        raise BadBody("body_path: the file takes one JSON object")
    return body
