"""One sandbox process for all tests of the folder, reset before each test."""

from collections.abc import Iterator

import pytest

from bms_sandbox.serve import Sandbox, running
from tests.bms_sandbox.caller import Caller

TODAY = "2026-03-31T18:00:00"  # a Tuesday


@pytest.fixture(scope="session")
def service() -> Iterator[Sandbox]:
    with running(options=("--today", TODAY, "--frozen")) as sandbox:
        yield sandbox


@pytest.fixture
def caller(sandbox: Sandbox) -> Caller:
    """A caller that is logged in."""
    made = Caller(sandbox)
    made.login()
    return made
