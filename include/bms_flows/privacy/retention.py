"""Deletion of files after a number of days that depends on their kind; tables stay unchanged."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from upath import UPath

from bms_flows.catalog import FLOWS
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.storage import LOCAL, PART

RECEIPT = "receipt.json"
"""Name of receipts, which retention never deletes: they contain no personal data."""
ABANDONED_AFTER = timedelta(days=1)
"""Time since the last write after which a `.part` file or an empty folder has no writer."""


@dataclass(frozen=True)
class Deleted:
    """Number and size of the deleted files of one kind."""

    files: int = 0
    bytes: int = 0


def retention_days(settings: FlowSettings) -> dict[str, int]:
    """Return the retention of each kind of file; a kind is a folder of the data root."""
    mirrors = [flow for flow in FLOWS.values() if flow.unpause_group == "mirrors"]
    return {
        **{f"raw/{table}": settings.keep_people_days for flow in mirrors for table in flow.tables},
        "raw": settings.keep_raw_days,
        "parquet": 0,  # of earlier versions; nothing reads it
        "reports": settings.keep_reports_days,
        "archive": settings.keep_people_days,
        "operators": settings.keep_people_days,
        "uploads": 1,
    }


def sweep(data_root: UPath, days: Mapping[str, int], *, now: datetime) -> dict[str, Deleted]:
    """Delete files that are older than the retention of their kind, and folders that have been empty for a day.

    A `.part` file is an incomplete file of a killed process; delete it a day after its last write.
    """
    return {kind: _sweep(data_root / kind, timedelta(days=n), now) for kind, n in days.items()}


def _sweep(folder: UPath, retention: timedelta, now: datetime) -> Deleted:
    files = size = 0
    receipts = folder.name == "reports"  # elsewhere, a user may have given a file this name
    # Each file is looked at just before its deletion: a run may write an expired report again.
    for path, written, length in _files(folder):
        age = now - written
        if path.endswith(PART):
            old = age > ABANDONED_AFTER
        else:
            old = age > retention and not (receipts and path.endswith(f"/{RECEIPT}"))
        if old:
            with suppress(FileNotFoundError):  # an erasure was faster
                folder.fs.rm_file(path)
                files, size = files + 1, size + length
    _remove_empty_folders(folder, now)
    return Deleted(files, size)


def _files(folder: UPath) -> Iterator[tuple[str, datetime, int]]:
    if not folder.exists():
        return
    if folder.protocol in LOCAL:
        # `find` of fsspec follows symbolic links, which other processes may create among the reports.
        for below, _, names in os.walk(folder.path):
            for path in (f"{below}/{name}" for name in names):
                with suppress(FileNotFoundError):  # renamed or removed since it was listed
                    status = os.lstat(path)
                    yield path, datetime.fromtimestamp(status.st_mtime, UTC), status.st_size
        return
    for path, info in folder.fs.find(folder.path, detail=True).items():
        yield path, _written(info), info["size"]


def _written(info: Mapping[str, Any]) -> datetime:
    """Return when a file was written; the name of that attribute depends on the file system."""
    stamp = info.get("LastModified") or info.get("mtime") or info.get("last_modified")
    if isinstance(stamp, datetime):
        return stamp.astimezone(UTC)
    if stamp is None:
        raise ValueError("the object store returns no modification time")
    return datetime.fromtimestamp(float(stamp), UTC)


def _remove_empty_folders(folder: UPath, now: datetime) -> None:
    # Object stores have no real folders; a listed folder disappears with its last object.
    if folder.protocol not in LOCAL:
        return
    for below, _, _ in os.walk(folder.path, topdown=False):
        with suppress(OSError):  # the folder is not empty
            changed = datetime.fromtimestamp(Path(below).lstat().st_mtime, UTC)
            # A process may have made a young folder to write into it.
            if below != folder.path and now - changed > ABANDONED_AFTER:
                # `UPath.rmdir` is recursive: it would delete files that another process has just written.
                Path(below).rmdir()
