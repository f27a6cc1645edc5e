"""Report files below the data root: which there are, and one of them by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
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


def listed(root: UPath, folder: str | None) -> list[ReportFile]:
    """Return the files of a report's folder by name; none where it is gone, or no report's."""
    if folder is None or not _inside(folder):
        return []
    place = root / folder
    if not place.is_dir():
        return []
    found = [each for each in place.iterdir() if each.is_file()]
    return sorted(
        (ReportFile(each.name, each.stat().st_size) for each in found), key=lambda each: each.name
    )


def content(root: UPath, folder: str | None, name: str) -> bytes | None:
    """Return a file's content; None for any name that the report's folder doesn't list."""
    if folder is None or name not in {each.name for each in listed(root, folder)}:
        return None
    return (root / folder / name).read_bytes()


def _inside(folder: str) -> bool:
    """Whether a name from the warehouse leads below the reports and nowhere else."""
    parts = PurePosixPath(folder).parts
    return len(parts) > 1 and parts[0] == REPORTS and ".." not in parts
