"""Files of employees in their inbox."""

from pathlib import Path

import pytest

from bms_sandbox.serve import Sandbox
from tests.bms_provider.operators.flows.execution import DROP, HEADER


@pytest.fixture
def inbox(data_root: Path) -> Path:
    """The inbox of employees."""
    folder = data_root / "inbox" / "employees"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def dropped(inbox: Path) -> str:
    """A file in the inbox of employees; its name."""
    (inbox / "août.csv").write_bytes(DROP.encode("cp1252"))
    return "août.csv"


@pytest.fixture
def doubtful(sandbox: Sandbox, inbox: Path) -> str:
    """A file in the inbox with somebody who may be an employee known under another number; its row."""
    known = next(row for row in sandbox.rows("employees") if row["id_entity"] == 1)
    started = str(known["start_date"])[:10]
    row = f"999001;{known['last_name']};{known['first_name']};1;{started}\r\n"
    (inbox / "mars.csv").write_text(HEADER + row)
    return row
