"""Inboxes on a disk and on an S3 server."""

from pathlib import Path
from uuid import uuid4

import pytest
from upath import UPath


@pytest.fixture
def bucket(s3_server: str) -> UPath:
    """An empty bucket of the test's own."""
    root = UPath(
        f"s3://drops-{uuid4().hex}",
        key="test",
        secret="test",
        endpoint_url=s3_server,
        skip_instance_cache=True,
    )
    root.fs.mkdir(root.path.strip("/"))
    return root


@pytest.fixture(params=["disk", "s3"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> UPath:
    """An empty data root, once on a disk and once on an object store."""
    if request.param == "disk":
        return UPath(tmp_path)
    found: UPath = request.getfixturevalue("bucket")
    return found


@pytest.fixture
def inbox(root: UPath) -> UPath:
    """An empty inbox in it."""
    found = root / "inbox" / "employees"
    found.mkdir(parents=True, exist_ok=True)
    return found
