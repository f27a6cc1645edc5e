"""Terminal output of the stack: each step with its elapsed and expected time."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

# Seconds on a machine with two cores; measurements of this machine replace them.
DEFAULT_DURATIONS: Mapping[str, float] = {
    "database cluster": 3,
    "postgresql": 1,
    "airflow schema": 8,
    "warehouse schema": 4,
    "sandbox": 3,
    "api-server": 15,
    "scheduler": 15,
    "dag-processor": 15,
    "triggerer": 15,
    "pool bms_service": 1,
    "connection bms_default": 1,
    "dags listed": 3,
    "invoice_extraction": 15,
    "employee_onboarding": 30,
    "contact_sync": 8,
    "contact_sync, nothing changed": 6,
    "contact_sync, four changed": 6,
}


class _Console(Console):
    """A console that survives a closed pipe, as in `make up | head`."""

    def on_broken_pipe(self) -> None:
        """Stop printing; rich would end the process before it has stopped the stack."""
        self.quiet = True


class Progress:
    """A live table on a terminal, plain lines elsewhere."""

    def __init__(self, expected: Mapping[str, float], stream: TextIO | None = None) -> None:
        self._expected = {**DEFAULT_DURATIONS, **expected}
        self._console = _Console(file=stream or sys.stdout, highlight=False)
        self._names: list[str] = []
        self._started: dict[str, float] = {}
        self._took: dict[str, float] = {}
        self._notes: dict[str, str] = {}
        self._live: Live | None = None

    def show(self, names: Sequence[str]) -> None:
        """Show a new list of steps below the previous output."""
        self.close()
        self._names = list(names)
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False)
            self._try(self._live.start)

    def start(self, name: str) -> None:
        """Show that a step has started."""
        self._started[name] = time.monotonic()
        if self._live is None:
            expected = self._expected_time(name)
            self.print(f"{name}: started, takes {expected}" if expected else f"{name}: started")

    def finish(self, name: str, seconds: float) -> None:
        """Show that a step has finished."""
        self._took[name] = seconds
        if self._live is None:
            self.print(f"{name}: done in {seconds:.1f} s")

    def note(self, name: str, text: str) -> None:
        """Show the state of a running step."""
        if self._notes.get(name) != text:
            self._notes[name] = text
            if self._live is None:
                self.print(f"{name}: {text}")

    def refresh(self) -> None:
        """Update the elapsed times."""
        if self._live is not None:
            live = self._live
            self._try(lambda: live.update(self._table(), refresh=True))

    def close(self) -> None:
        """Leave the list of steps on the screen; later output appears below it."""
        self.refresh()
        if self._live is not None:
            live, self._live = self._live, None
            self._try(live.stop)
        self._names, self._started, self._took, self._notes = [], {}, {}, {}

    def print(self, content: RenderableType) -> None:
        """Print a line, unwrapped whatever the width, or a table."""
        is_text = isinstance(content, str)
        self._try(lambda: self._console.print(content, markup=not is_text, soft_wrap=is_text))

    def _try(self, output: Callable[[], object]) -> None:
        """Output something; continue without a display if the terminal or pipe is gone."""
        try:
            output()
        except OSError:
            self._live = None
            self._console = _Console(file=Path(os.devnull).open("w"))  # noqa: SIM115 - open until the process ends

    def _expected_time(self, name: str) -> str:
        return f"about {max(1, round(self._expected[name]))} s" if name in self._expected else ""

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 1))
        for name in self._names:
            table.add_row(*self._row(name))
        return table

    def _row(self, name: str) -> tuple[RenderableType, ...]:
        note = Text(self._notes.get(name, ""), style="dim")
        if name in self._took:
            return Text("✓", style="green"), name, Text(f"{self._took[name]:5.1f} s"), "", note
        expected = self._expected_time(name)
        if name not in self._started:
            return Text("·"), Text(name, style="dim"), Text(expected, style="dim"), "", ""
        seconds = time.monotonic() - self._started[name]
        total = self._expected.get(name, seconds)
        bar = ProgressBar(total=max(total, 0.1), completed=min(seconds, total), width=24)
        elapsed = f"{seconds:5.1f} s of {expected}" if expected else f"{seconds:5.1f} s"
        return Text("→", style="cyan"), name, elapsed, bar, note
