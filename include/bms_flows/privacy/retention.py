"""Files are kept for a number of days, by kind; the tables are never touched."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from upath import UPath

from bms_flows.runtime.settings import Settings
from bms_flows.runtime.storage import LOCAL, PART

PEOPLE = ("contact", "consultant", "employee", "employee_private")
"""Folders of answers that are about people, by their tables' names."""
KEPT = "receipt.json"
"""Receipts stay: they hold nothing personal."""
BROKEN_OFF = timedelta(days=1)
"""Age from which a `.part` file has no writer any more."""


@dataclass(frozen=True)
class Swept:
    """What was deleted of a kind."""

    files: int = 0
    bytes: int = 0


def kept_days(settings: Settings) -> dict[str, int]:
    """Return for how many days each kind of file is kept; the kind is a folder of the data root."""
    return {
        **{f"raw/{name}": settings.keep_people_days for name in PEOPLE},
        "raw": settings.keep_raw_days,
        "parquet": settings.keep_parquet_days,
        "reports": settings.keep_reports_days,
        "archive": settings.keep_archive_days,
        "operators": settings.keep_operators_days,
    }


def sweep(data_root: UPath, days: Mapping[str, int], *, now: datetime) -> dict[str, Swept]:
    """Delete files written longer ago than their kind is kept, and folders left empty.

    A `.part` file is what a killed process left of a file: deleted a day after the last write.
    """
    return {kind: _sweep(data_root / kind, timedelta(days=n), now) for kind, n in days.items()}


def _sweep(folder: UPath, kept: timedelta, now: datetime) -> Swept:
    files = size = 0
    for path, written, length in list(_files(folder)):
        age = now - written
        if path.endswith(PART):
            old = age > BROKEN_OFF
        else:
            old = age > kept and not path.endswith(f"/{KEPT}")
        if old:
            folder.fs.rm_file(path)
            files, size = files + 1, size + length
    _drop_empty(folder)
    return Swept(files, size)


def _files(folder: UPath) -> Iterator[tuple[str, datetime, int]]:
    if not folder.exists():
        return
    if folder.protocol in LOCAL:
        # Not fsspec's: that follows links, and others may put links beside the reports.
        for below, _, names in os.walk(folder.path):
            for path in (f"{below}/{name}" for name in names):
                with suppress(FileNotFoundError):  # renamed or removed meanwhile
                    status = os.lstat(path)
                    yield path, datetime.fromtimestamp(status.st_mtime, UTC), status.st_size
        return
    for path, info in folder.fs.find(folder.path, detail=True).items():
        yield path, _written(info), info["size"]


def _written(info: Mapping[str, Any]) -> datetime:
    """Return when a file was written: object stores and local disks say so under their own names."""
    stamp = info.get("LastModified") or info.get("mtime") or info.get("last_modified")
    if isinstance(stamp, datetime):
        return stamp.astimezone(UTC)
    if stamp is None:
        raise ValueError("the object store does not say when a file was written")
    return datetime.fromtimestamp(float(stamp), UTC)


def _drop_empty(folder: UPath) -> None:
    # Object stores have no folders; what they list as one goes with its last object.
    if folder.protocol not in LOCAL:
        return
    for below, _, _ in os.walk(folder.path, topdown=False):
        if below != folder.path:
            # Not UPath's: that of an object store's path takes along what was written just now.
            with suppress(OSError):  # it holds something
                Path(below).rmdir()
