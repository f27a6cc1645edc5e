"""Files of a run: raw answers and Parquet, on a local folder or an object store, never half-written."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import IO, Any

import pyarrow as pa
from pyarrow import parquet
from upath import UPath


@dataclass(frozen=True)
class Landing:
    """Where a step's files go: raw answers and Parquet of a resource, by day and step."""

    data_root: UPath
    resource: str
    day: date
    run_id: int

    @property
    def raw(self) -> UPath:
        """The folder of the answers as they came."""
        return self._folder("raw")

    @property
    def parquet(self) -> UPath:
        """The file of the rows as columns."""
        return self._folder("parquet") / f"{self.resource}.parquet"

    def report(self, name: str) -> UPath:
        """Return a file for people, by its name."""
        return self._folder("reports") / name

    def _folder(self, kind: str) -> UPath:
        return self.data_root / kind / self.resource / self.day.isoformat() / f"step-{self.run_id}"


@contextmanager
def whole(path: UPath) -> Iterator[IO[bytes]]:
    """Open `path` for writing so that it appears when it is complete, or not at all.

    A local file is written beside its name and renamed; an object store shows an object only
    once it is closed.
    """
    if path.protocol not in ("", "file", "local"):
        with path.open("wb") as stream:
            yield stream
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as stream:
        yield stream
    part.rename(path)


def keep_raw(path: UPath, body: bytes) -> int:
    """Keep an answer as it came, compressed with Zstandard; return the bytes written."""
    packed = pa.compress(body, codec="zstd", asbytes=True)
    with whole(path) as stream:
        return stream.write(packed)


@contextmanager
def parquet_file(path: UPath, schema: pa.Schema) -> Iterator[Any]:
    """Yield a Parquet writer (`write_table`) whose file appears when the block ends well."""
    with whole(path) as stream, parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        yield writer
