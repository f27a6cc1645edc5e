"""Stored responses of a step: file names, reading, and loading them again without the service."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection
from upath import UPath

from bms.errors import MalformedResponse
from bms_flows.invoices.decode import ResponseReader
from bms_flows.invoices.fetch import WindowResponse
from bms_flows.invoices.load import Loader
from bms_flows.invoices.rows import Reading
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.runtime.windows import Window

SUFFIX = ".json.zst"
REQUESTED, MOVED = "entity", "nearby"
"""Name prefixes: responses for a unit's days, and for the days searched for moved invoices."""


class ResponsesMissing(RuntimeError):
    """Stored responses are missing or damaged; the text names steps or file; nothing was changed."""

    retriable = False


@dataclass(frozen=True)
class StoredResponses:
    """The stored responses of a step, and how they are read."""

    folder: UPath
    reading: Reading
    read_at: datetime
    """When reading began."""

    @classmethod
    def of_step(cls, data_root: UPath, details: Mapping[str, Any]) -> "StoredResponses":
        """Return the stored responses of the step run with these details."""
        read_at = datetime.fromisoformat(details["read_at"])
        return cls(data_root / details["raw"], Reading.of_step(details), read_at)

    @property
    def days(self) -> set[date]:
        """The days with a stored response; none if the folder is missing."""
        return {day for window, _ in self.files(REQUESTED) for day in window}

    def lacks(self, unit: Unit) -> bool:
        """Return whether the response for a day of `unit` is missing."""
        return not unit.days <= self.days

    def read(self, kind: str) -> Iterator[WindowResponse]:
        """Yield the `REQUESTED` or the `MOVED` responses, in the order of the days."""
        reader = ResponseReader()
        for window, path in self.files(kind):
            try:
                response = reader.read(unpacked(path))
            except (MalformedResponse, pa.ArrowInvalid, OSError) as error:
                if getattr(error, "errno", None):  # of the disk or the network
                    raise
                raise ResponsesMissing(
                    f"the stored response {self.folder.name}/{path.name} is incomplete or damaged: "
                    "restore the file from a backup"
                ) from None
            yield window, response

    def files(self, kind: str) -> Iterator[tuple[Window, UPath]]:
        """Yield the files of a kind, with the windows that their requests named."""
        files = self.folder.iterdir() if self.folder.exists() else ()
        for path in sorted(files, key=lambda path: path.name):
            if path.name.startswith(f"{kind}-") and path.name.endswith(SUFFIX):
                start, end = path.name.removesuffix(SUFFIX).split("_")[-2:]
                yield Window.parse(f"{start}/{end}"), path


def unpacked(path: UPath) -> bytes:
    """Return the content of a stored response."""
    with path.open("rb") as stream, pa.CompressedInputStream(stream, "zstd") as unpacked:
        return unpacked.read()  # type: ignore[no-any-return]


def raw_file_name(id_entity: int, window: Window, kind: str = REQUESTED) -> str:
    """Return the file name of an entity's stored response for a window."""
    return f"{kind}-{id_entity}_{window.start}_{window.end}{SUFFIX}"


def reload(
    committed: Connection,
    loader: Loader,
    unit: Unit,
    stored: StoredResponses,
    *,
    later: bool,
    renew: Callable[[], None] = lambda: None,
) -> Transform:
    """Load the days of `unit` from stored responses; return their transform, still unpublished.

    `committed` reads what was committed before. With `later`, other loads may have been published
    since the responses were read: their newer rows stay.
    """
    transform = Transform(
        committed,
        stored.reading,
        stored.read_at,
        excluded_days=stored.days - unit.days,
        later=later,
    )
    for window, response in stored.read(REQUESTED):
        for rows in transform.add([(window, response)]):
            loader.add(rows)
        renew()
    for window, response in stored.read(MOVED):
        loader.add(transform.add_moved(window, response))
    return transform
