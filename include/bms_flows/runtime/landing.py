"""Files of a step run: raw responses and reports."""

from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
from upath import UPath

from bms_flows.runtime.storage import atomic_file


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
