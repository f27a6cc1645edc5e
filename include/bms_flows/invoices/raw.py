"""Answers as they came: their names, and reading them again without the service."""

from collections.abc import Iterator

import pyarrow as pa
from upath import UPath

from bms.decoding import RecordReader
from bms.endpoints import BY_NAME
from bms.records import ClientInvoice
from bms_flows.invoices.read import Answer
from bms_flows.invoices.window import Window

SUFFIX = ".json.zst"


def raw_name(id_entity: int, window: Window) -> str:
    """Return the name of the file that keeps an entity's answer for a window."""
    return f"entity-{id_entity}_{window.start}_{window.end}{SUFFIX}"


def replay(folder: UPath) -> Iterator[Answer]:
    """Yield the answers kept in `folder`, in the order of their days."""
    reader = RecordReader(BY_NAME["list_client_invoices"], ClientInvoice)
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith(SUFFIX):
            start, end = path.name.removesuffix(SUFFIX).split("_")[-2:]
            with path.open("rb") as stream, pa.CompressedInputStream(stream, "zstd") as unpacked:
                yield Window.parse(f"{start}/{end}"), reader.rows(unpacked.read())
