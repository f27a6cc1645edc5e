"""Run of a flow in a process that reports every file it opened for writing and every temporary file."""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs.flows import Flow

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Telling:
    """`flow`, and where its process writes what it opened; `temporary` is its TMPDIR."""

    flow: Flow
    temporary: str
    told: str

    def __call__(self, at: int | None, act: Callable[[], None]) -> list[str]:
        """Run the flow; report the files it opened, also after an error."""
        opened: list[str] = []

        def hear(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "open" and isinstance(arguments[0], str) and arguments[2] & WRITES:
                opened.append(str(Path(arguments[0]).absolute()))
            if event in ("tempfile.mkstemp", "tempfile.mkdtemp"):
                opened.append(str(arguments[0]))

        sys.dont_write_bytecode = True  # compiled modules are none of the flow's files
        os.environ["TMPDIR"] = self.temporary
        tempfile.tempdir = None  # found anew, there
        sys.addaudithook(hear)  # hears the interpreter's own openings; stays until the process ends
        try:
            return self.flow(at, act)
        finally:
            # Not by open(): a flow that is stopped at its points has that wrapped.
            told = json.dumps(opened).encode()
            handle = os.open(self.told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.write(handle, told)
            os.close(handle)
