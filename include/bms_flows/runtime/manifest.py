"""Version of the manifests that a task hands to the later tasks of its run.

A run may wait for an approval for days, and the later tasks may be those of another release.
"""

from collections.abc import Mapping
from typing import Any

VERSION = 1
"""Increased when a later task can no longer read the manifests of the release before."""


class OtherVersion(RuntimeError):
    """The run began with a release whose manifests this release cannot read."""

    retriable = False


class NoManifest(RuntimeError):
    """The task before has no result."""

    retriable = False


def versioned(**values: Any) -> dict[str, Any]:
    """Return a manifest with its version."""
    return {"version": VERSION, **values}


def require_version(manifest: Mapping[str, Any] | None, remedy: str) -> None:
    """Raise `NoManifest` without a manifest, `OtherVersion` with the remedy for another version."""
    if manifest is None:
        raise NoManifest(
            "the task before this one has no result: a user marked it as successful, or the result was"
            " deleted. Clear that task, so that it runs"
        )
    found = manifest.get("version")
    if found != VERSION:
        raise OtherVersion(
            f"this run began with another release of bms-airflow: its manifest has version {found}, "
            f"and this release reads version {VERSION}. {remedy}"
        )
