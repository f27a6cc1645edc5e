"""Report files below the data root."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from posixpath import commonpath, dirname
from typing import Any

from upath import UPath

from bms_flows.runtime import storage

REPORTS = "reports"


MEDIA_TYPES = {
    ".csv": "text/csv",  # without a charset: a reject file has the encoding of the dropped file
    ".json": "application/json",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


@dataclass(frozen=True)
class ReportFile:
    """Name and size of a report file."""

    name: str
    size: int
    label: str = ""
    """Name of its download; empty: its own name."""


def folder_of(step: Mapping[Any, Any]) -> str | None:
    """Return the folder of a step's report, relative to the data root; None for a step without report."""
    details = step["details"] or {}
    if details.get("report"):
        return str(details["report"])
    kind, slash, rest = str(details.get("raw") or "").partition("/")
    return f"{REPORTS}/{rest}" if kind == "raw" and slash else None


def listed(root: UPath, folders: Iterable[str | None]) -> dict[str, list[ReportFile]]:
    """Return the report files of each folder; an empty list for a missing folder.

    Ignores folders outside the reports. Sends one request per parent folder, since the reports of a
    run's steps are in the same folder of the day.
    """
    inside = sorted({each for each in folders if each and _inside(root, each)}, key=dirname)
    found: dict[str, list[ReportFile]] = {each: [] for each in inside}
    for _, group in groupby(inside, key=dirname):
        siblings = {*group}
        for path, size in _files(root / commonpath(siblings)):
            folder, _, name = path.removeprefix(root.path).strip("/").rpartition("/")
            if folder in siblings:
                found[folder].append(ReportFile(name, size))
    return found


def content(root: UPath, folder: str | None, name: str) -> bytes | None:
    """Return the content of a report file; None unless the folder lists the name and has the file."""
    if folder is None:
        return None
    if name not in {each.name for each in listed(root, [folder]).get(folder, [])}:
        return None
    try:
        return storage.read_file(root / folder / name)
    except FileNotFoundError:  # deleted since it was listed
        return None


def without_links(root: UPath, relative: str) -> bool:
    """Return whether no part of a path below the data root is a link; object stores have none."""
    if root.protocol not in storage.LOCAL:
        return True
    return Path(root.path).resolve() / relative == (Path(root.path) / relative).resolve()


def _files(folder: UPath) -> list[tuple[str, int]]:
    """Return the path and size of every file below a folder, sorted by path."""
    folder.fs.invalidate_cache()  # the file system of an object store caches listings
    found = folder.fs.find(folder.path, detail=True).items()
    return sorted(
        (path, info["size"])
        for path, info in found
        if info.get("type") == "file" and not info.get("islink")
    )


def _inside(root: UPath, folder: str) -> bool:
    """Return whether a folder name from the warehouse is below the reports folder."""
    parts = PurePosixPath(folder).parts
    below = len(parts) > 1 and parts[0] == REPORTS and ".." not in parts
    return below and without_links(root, folder)


def header_name(name: str) -> str:
    """Return a file name without characters that require quoting in a header."""
    return "".join(
        each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in name
    )
