"""Files of a step run: raw responses, Parquet and reports."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
from pyarrow import parquet
from upath import UPath

from bms_flows.runtime.storage import atomic_file

GROUP_ROWS = 8_000
"""Rows of a Parquet row group: groups of 1,000 rows take three times the processor time."""


@dataclass(frozen=True)
class Landing:
    """The folders of a step run's files, by resource, day and number of the step run.

    The time makes them unique: a restored or new warehouse gives the numbers of step runs again.
    """

    data_root: UPath
    resource: str
    at: datetime
    step_run_id: int

    @property
    def raw(self) -> UPath:
        """The folder of the raw responses."""
        return self._folder("raw")

    @property
    def parquet(self) -> UPath:
        """The Parquet file of the rows."""
        return self._folder("parquet") / f"{self.resource}.parquet"

    @property
    def reports(self) -> str:
        """The folder of the reports, relative to the data root."""
        return self._name("reports")

    def report(self, name: str) -> UPath:
        """Return the path of a report."""
        return self._folder("reports") / name

    def _folder(self, kind: str) -> UPath:
        return self.data_root / self._name(kind)

    def _name(self, kind: str) -> str:
        return (
            f"{kind}/{self.resource}/{self.at:%Y-%m-%d}/step-{self.step_run_id}-{self.at:%H%M%S%f}"
        )


def save_raw(path: UPath, body: bytes) -> int:
    """Store a raw response, compressed with Zstandard; return the bytes written."""
    packed = pa.compress(body, codec="zstd", asbytes=True)
    with atomic_file(path) as stream:
        return stream.write(packed)


class ParquetRows:
    """Writes tables to a Parquet file in row groups of at least `GROUP_ROWS` rows."""

    def __init__(self, writer: parquet.ParquetWriter) -> None:
        self._writer = writer
        self._waiting: list[pa.Table] = []

    def write_table(self, rows: pa.Table) -> None:
        """Add rows."""
        self._waiting.append(rows)
        if sum(each.num_rows for each in self._waiting) >= GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows."""
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting))
            self._waiting.clear()


@contextmanager
def parquet_file(path: UPath, schema: pa.Schema) -> Iterator[ParquetRows]:
    """Yield a writer of rows (`write_table`); the file appears when the block succeeds."""
    with (
        atomic_file(path) as stream,
        parquet.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        rows = ParquetRows(writer)
        yield rows
        rows.flush()
