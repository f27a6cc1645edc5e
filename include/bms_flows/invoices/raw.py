"""Answers as they came: their names, and reading them again without the service."""

from collections.abc import Iterator
from datetime import date

import pyarrow as pa
from upath import UPath

from bms_flows.invoices.decode import Response, ResponseReader
from bms_flows.invoices.fetch import WindowResponse
from bms_flows.runtime.windows import Window

SUFFIX = ".json.zst"
ASKED, NEARBY = "entity", "nearby"
"""What names begin with: answers for a unit's days, and for days that missing invoices may have moved to."""


class ResponsesMissing(RuntimeError):
    """Raw answers that are needed are gone; the text names the steps; nothing was changed."""

    retriable = False


def raw_file_name(id_entity: int, window: Window, kind: str = ASKED) -> str:
    """Return the name of the file that stores an entity's answer for a window."""
    return f"{kind}-{id_entity}_{window.start}_{window.end}{SUFFIX}"


def stored_responses(folder: UPath) -> Iterator[WindowResponse]:
    """Yield the answers for a unit's days stored in `folder`, in the order of their days."""
    return _read(folder, ASKED)


def stored_moved_responses(folder: UPath) -> Iterator[Response]:
    """Yield the answers stored in `folder` in which invoices missing from their days were found."""
    return (answer for _, answer in _read(folder, NEARBY))


def stored_days(folder: UPath) -> set[date]:
    """Return the days whose answers are stored in `folder`; none where there is no such folder."""
    return {day for window, _ in _stored(folder, ASKED) for day in window}


def _read(folder: UPath, kind: str) -> Iterator[WindowResponse]:
    reader = ResponseReader()
    for window, path in _stored(folder, kind):
        with path.open("rb") as stream, pa.CompressedInputStream(stream, "zstd") as unpacked:
            yield window, reader.read(unpacked.read())


def _stored(folder: UPath, kind: str) -> Iterator[tuple[Window, UPath]]:
    for path in sorted(folder.iterdir() if folder.exists() else (), key=lambda path: path.name):
        if path.name.startswith(f"{kind}-") and path.name.endswith(SUFFIX):
            start, end = path.name.removesuffix(SUFFIX).split("_")[-2:]
            yield Window.parse(f"{start}/{end}"), path
