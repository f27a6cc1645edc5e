"""Files that the operators write below ``BMS_DATA_ROOT``, read back from their manifests.

A manifest is what a list or read operator returns to XCom: a small dictionary that names the file.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import islice
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Final

from bms_provider import flow_context

if TYPE_CHECKING:
    import pandas as pd
    from upath import UPath

    from bms.dataframes import Amounts, Dates
    from bms.records import Record

OPERATOR_FILES: Final = "operators"
"""Folder below the data root of the files that operators write by default."""

MANIFEST_VERSION: Final = 1
"""Version of the manifests that this version of the provider writes and reads."""

CHUNK: Final = 5_000
"""Rows encoded or decoded at once: bounds the bytes in memory."""


class BadPath(ValueError):
    """A path does not lead below the data root."""

    retriable = False


class BadManifest(ValueError):
    """A manifest is of another version, or its file is missing or was changed."""

    retriable = False


def read_rows(
    manifests: Mapping[str, Any] | Iterable[Mapping[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one or several manifests of the same operation, as dictionaries.

    Amounts are `Decimal` with the digits of the service, days `date`, timestamps aware `datetime`
    in UTC. The key ``_extra`` has the values without a typed field: unknown fields, and fields of
    another type than the interface describes.

    Several manifests are those of a mapped operator. Raises `BadManifest` before the first row.
    """
    return _rows(*_checked(manifests))


def read_df(
    manifests: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    *,
    amounts: Amounts = "decimal",
    dates: Dates = "datetime64",
) -> pd.DataFrame:
    """Return the rows of one or several manifests of the same operation as a DataFrame.

    `bms.dataframes` lists the dtypes and what `amounts` and `dates` change. Raises `BadManifest`, or `InexactValue` for an amount that
    `decimal128(38, 9)` cannot hold.
    """
    from bms.dataframes import dataframe  # noqa: PLC0415 - imports pandas

    checked, record = _checked(manifests)
    return dataframe(record, _rows(checked, record), amounts=amounts, dates=dates)


def manifest(operation: str, time_zone: str, **file: Any) -> dict[str, Any]:
    """Return the manifest of a file: `path`, `rows`, `sha256` (as stored) and `bytes`."""
    return {
        "version": MANIFEST_VERSION,
        "operation": operation,
        "time_zone": time_zone,
        **file,
    }


def below_root(path: str) -> UPath:
    """Return the file of a path relative to the data root, or of the path in a manifest.

    Attaches its file system, so that opening the file requests nothing from Airflow. Raises
    `BadPath`.
    """
    root = flow_context.data_root()
    relative = path.removeprefix(f"{str(root).rstrip('/')}/")
    parts = PurePosixPath(relative).parts
    if not parts or relative.startswith("/") or "://" in relative or ".." in parts:
        raise BadPath(f"{path!r} leads out of BMS_DATA_ROOT. Give a path relative to it.")
    file = root / relative
    _ = file.fs
    return file


def _checked(
    manifests: Mapping[str, Any] | Iterable[Mapping[str, Any]],
) -> tuple[list[Mapping[str, Any]], type[Record]]:
    """Return manifests as a list, and the type of their records; raise `BadManifest`."""
    from bms.endpoints import BY_OPERATION  # noqa: PLC0415 - keeps the import of operators light

    found = [manifests] if isinstance(manifests, Mapping) else list(manifests)
    for each in found:
        version = each.get("version") if isinstance(each, Mapping) else None
        if version != MANIFEST_VERSION:
            raise BadManifest(
                f"The manifest has version {version!r}, this provider reads version "
                f"{MANIFEST_VERSION}. Run the task that wrote it again."
            )
    operations = {each["operation"] for each in found}
    if len(operations) != 1:
        named = ", ".join(sorted(operations)) or "no manifest"
        raise BadManifest(f"Expected manifests of one operation, got {named}.")
    return found, BY_OPERATION[operations.pop()]


def _rows(manifests: Iterable[Mapping[str, Any]], record: type[Record]) -> Iterator[dict[str, Any]]:
    from bms.decoding import RecordReader  # noqa: PLC0415 - keeps the import of operators light
    from bms.endpoints import BY_NAME  # noqa: PLC0415
    from bms.typed_rows import typed_rows  # noqa: PLC0415

    for each in manifests:
        reader = RecordReader(BY_NAME[each["operation"]], record)
        with _open(each) as lines:
            while chunk := list(islice(lines, CHUNK)):
                rows = reader.rows(b"[" + b",".join(chunk) + b"]")
                rows.require_all()
                yield from typed_rows(rows, record, each["time_zone"])


def _open(manifest: Mapping[str, Any]) -> IO[bytes]:
    """Open the file of a manifest; raise `BadManifest` if it is not the file that was written."""
    path = below_root(manifest["path"])
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = b""
    if hashlib.sha256(content).hexdigest() != manifest["sha256"]:
        raise BadManifest(
            f"{path.name} is missing or was changed after the task wrote it. Run the task again."
        )
    stream = BytesIO(content)
    return gzip.open(stream) if path.suffix == ".gz" else stream  # type: ignore[return-value]  # binary mode
