"""What the person in front of the terminal sees: each step, how long it takes, how long it should."""

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

# Seconds measured on two cores; each machine's own figures take their place.
SHIPPED: Mapping[str, float] = {
    "database cluster": 3,
    "postgresql": 1,
    "airflow's schema": 8,
    "warehouse's schema": 4,
    "sandbox": 3,
    "api-server": 15,
    "scheduler": 15,
    "dag-processor": 15,
    "triggerer": 15,
    "connection bms_default": 1,
    "dags listed": 3,
    "invoice_extraction": 15,
    "employee_onboarding": 30,
    "contact_sync": 8,
    "contact_sync, nothing changed": 6,
    "contact_sync, four changed": 6,
}


class _Console(Console):
    """A console whose reader may go away, as of `make up | head`."""

    def on_broken_pipe(self) -> None:
        """Fall silent; rich would end the process, and with it the stop of the stack."""
        self.quiet = True


class Progress:
    """A live table on a terminal, plain lines elsewhere."""

    def __init__(self, expected: Mapping[str, float], stream: TextIO | None = None) -> None:
        self._expected = {**SHIPPED, **expected}
        self._console = _Console(file=stream or sys.stdout, highlight=False)
        self._names: list[str] = []
        self._begun: dict[str, float] = {}
        self._took: dict[str, float] = {}
        self._notes: dict[str, str] = {}
        self._live: Live | None = None

    def announce(self, names: Sequence[str]) -> None:
        """Show the steps to come; what stood before stays above them."""
        self.settle()
        self._names = list(names)
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False)
            self._guarded(self._live.start)

    def begin(self, name: str) -> None:
        """Show that a step begins."""
        self._begun[name] = time.monotonic()
        if self._live is None:
            self.say(f"{name} … ({self._about(name)})")

    def done(self, name: str, seconds: float) -> None:
        """Show that a step is done."""
        self._took[name] = seconds
        if self._live is None:
            self.say(f"{name}: {seconds:.1f} s")

    def note(self, name: str, text: str) -> None:
        """Show how far a step is."""
        if self._notes.get(name) != text:
            self._notes[name] = text
            if self._live is None:
                self.say(f"{name}: {text}")

    def tick(self) -> None:
        """Let the display move."""
        if self._live is not None:
            live = self._live
            self._guarded(lambda: live.update(self._table(), refresh=True))

    def settle(self) -> None:
        """Leave the display as it stands; what follows is printed below it."""
        self.tick()
        if self._live is not None:
            live, self._live = self._live, None
            self._guarded(live.stop)
        self._names, self._begun, self._took, self._notes = [], {}, {}, {}

    def say(self, what: RenderableType) -> None:
        """Print a line or a table."""
        text = isinstance(what, str)  # a line is left whole, whatever the width of a pipe
        self._guarded(lambda: self._console.print(what, markup=not text, soft_wrap=text))

    def _guarded(self, act: Callable[[], object]) -> None:
        """Do without a display when its terminal or pipe is gone: the stop goes on without it."""
        try:
            act()
        except OSError:
            self._live = None
            self._console = _Console(file=Path(os.devnull).open("w"))  # noqa: SIM115 - for the rest of the process

    def _about(self, name: str) -> str:
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
        if name not in self._begun:
            return Text("·"), Text(name, style="dim"), Text(self._about(name), style="dim"), "", ""
        seconds = time.monotonic() - self._begun[name]
        expected = self._expected.get(name, seconds)
        bar = ProgressBar(total=max(expected, 0.1), completed=min(seconds, expected), width=24)
        return Text("→", style="cyan"), name, f"{seconds:5.1f} s of {self._about(name)}", bar, note
