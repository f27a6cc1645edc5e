"""Answers as they came: their names, and reading them again without the service."""

from collections.abc import Iterator

import pyarrow as pa
from upath import UPath

from bms_flows.invoices.columns import AnswerReader
from bms_flows.invoices.read import Answered
from bms_flows.invoices.window import Window

SUFFIX = ".json.zst"


def raw_name(id_entity: int, window: Window) -> str:
    """Return the name of the file that keeps an entity's answer for a window."""
    return f"entity-{id_entity}_{window.start}_{window.end}{SUFFIX}"


def replay(folder: UPath) -> Iterator[Answered]:
    """Yield the answers kept in `folder`, in the order of their days."""
    reader = AnswerReader()
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith(SUFFIX):
            start, end = path.name.removesuffix(SUFFIX).split("_")[-2:]
            with path.open("rb") as stream, pa.CompressedInputStream(stream, "zstd") as unpacked:
                yield Window.parse(f"{start}/{end}"), reader.read(unpacked.read())
