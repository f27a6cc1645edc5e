"""Report files below the data root: which there are, and one of them by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from posixpath import commonpath, dirname
from typing import Any

from upath import UPath

REPORTS = "reports"


@dataclass(frozen=True)
class ReportFile:
    """A file of a report: its name in the report's folder, and its bytes."""

    name: str
    size: int


def folder_of(step: Mapping[Any, Any]) -> str | None:
    """Return the folder of a step's report, below the data root; None where it can have none."""
    details = step["details"] or {}
    if details.get("report"):
        return str(details["report"])
    kind, slash, rest = str(details.get("raw") or "").partition("/")
    return f"{REPORTS}/{rest}" if kind == "raw" and slash else None


def listed(root: UPath, folders: Iterable[str | None]) -> dict[str, list[ReportFile]]:
    """Return the files of reports' folders by name, by folder; none of one that is gone, or no report's.

    Folders side by side are asked for at once: a run's steps have theirs in that of the day.
    """
    wanted = sorted({each for each in folders if each and _inside(each)}, key=dirname)
    found: dict[str, list[ReportFile]] = {each: [] for each in wanted}
    for _, beside in groupby(wanted, key=dirname):
        ours = {*beside}
        for path, size in _files(root / commonpath(ours)):
            folder, _, name = path.removeprefix(root.path).strip("/").rpartition("/")
            if folder in ours:
                found[folder].append(ReportFile(name, size))
    return found


def content(root: UPath, folder: str | None, name: str) -> bytes | None:
    """Return a file's content; None for any name that the report's folder doesn't list."""
    if folder is None:
        return None
    if name not in {each.name for each in listed(root, [folder]).get(folder, [])}:
        return None
    place = root / folder / name
    found: bytes = place.fs.cat_file(place.path)
    return found


def _files(place: UPath) -> list[tuple[str, int]]:
    """Return the path and size of every file below a folder, as they are now; by path."""
    # An object store's file system lives as long as the process, and keeps what it once listed.
    place.fs.invalidate_cache()
    found = place.fs.find(place.path, detail=True).items()
    return sorted((path, info["size"]) for path, info in found if info.get("type") == "file")


def _inside(folder: str) -> bool:
    """Whether a name from the warehouse leads below the reports and nowhere else."""
    parts = PurePosixPath(folder).parts
    return len(parts) > 1 and parts[0] == REPORTS and ".." not in parts
