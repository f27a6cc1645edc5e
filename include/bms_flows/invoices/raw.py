"""Answers as they came: their names, and reading them again without the service."""

from collections.abc import Iterator
from datetime import date

import pyarrow as pa
from upath import UPath

from bms_flows.invoices.columns import AnswerReader
from bms_flows.invoices.read import Answered
from bms_flows.invoices.window import Window

SUFFIX = ".json.zst"


class AnswersMissing(RuntimeError):
    """Raw answers that are needed are gone; the text names the steps; nothing was changed."""

    retriable = False


def raw_name(id_entity: int, window: Window) -> str:
    """Return the name of the file that keeps an entity's answer for a window."""
    return f"entity-{id_entity}_{window.start}_{window.end}{SUFFIX}"


def replay(folder: UPath) -> Iterator[Answered]:
    """Yield the answers kept in `folder`, in the order of their days."""
    reader = AnswerReader()
    for window, path in _kept(folder):
        with path.open("rb") as stream, pa.CompressedInputStream(stream, "zstd") as unpacked:
            yield window, reader.read(unpacked.read())


def answered(folder: UPath) -> set[date]:
    """Return the days whose answers are kept in `folder`; none where there is no such folder."""
    return {day for window, _ in _kept(folder) for day in window}


def _kept(folder: UPath) -> Iterator[tuple[Window, UPath]]:
    for path in sorted(folder.iterdir() if folder.exists() else (), key=lambda path: path.name):
        if path.name.endswith(SUFFIX):
            start, end = path.name.removesuffix(SUFFIX).split("_")[-2:]
            yield Window.parse(f"{start}/{end}"), path
