"""One whole stack for every test in this folder: real scheduler, real database, real pages."""

import os
import tempfile
from collections.abc import Iterator

import pytest

from stack.launcher import Running, running

FOREIGN = ("AIRFLOW", "BMS_")


@pytest.fixture(scope="session")
def stack() -> Iterator[Running]:
    """The stack of `make up` with its files in a folder of its own; schedules start nothing."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    with tempfile.TemporaryDirectory() as folder:
        given = {
            **own,
            "BMS_LOCAL_DIR": folder,
            "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
        }
        with running(given) as found:
            yield found
