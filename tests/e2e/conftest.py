"""One whole stack for every test in this folder: real scheduler, real database, real pages."""

import os
import tempfile
from collections.abc import Iterator

import pytest

from stack.launcher import Running, running

FOREIGN = ("AIRFLOW", "BMS_")


@pytest.fixture(scope="session")
def stack() -> Iterator[Running]:
    """The stack of `make up` with its files in a folder of its own; its DAGs are paused until a test wants one."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    with tempfile.TemporaryDirectory() as folder:
        given = {
            **own,
            "BMS_LOCAL_DIR": folder,
            # A plan of more than two rows is asked about, and an answer not waited for long.
            "BMS_APPROVAL": "2",
            "BMS_APPROVAL_HOURS": str(45 / 3600),
            "BMS_SETTLE_S": "1",
        }
        with running(given) as found:
            yield found
