"""Output of the stack's commands: lines, and on a terminal one overwritten line with the progress."""

import io
import os
import shutil
import sys
import time
from collections.abc import Mapping
from typing import TextIO

DEFAULT_DURATIONS: Mapping[str, float] = {
    "first start": 12,
    "start": 8,
    "scenarios": 20,
    "stop": 2,
}
"""Seconds of each phase on an idle machine with two cores; measurements of this machine replace them."""

BOLD, GREEN, DIM, RESET = "\033[1m", "\033[32m", "\033[2m", "\033[0m"
INDENT = 13
START_OF_LINE = "\r\033[K"


class Progress:
    """Lines for a reader, and on a terminal the elapsed and expected seconds of the current phase.

    A lost terminal or a closed pipe, as in `make up | head`, ends the output and nothing else.
    """

    def __init__(self, expected: Mapping[str, float], stream: TextIO | None = None) -> None:
        self._expected = {**DEFAULT_DURATIONS, **expected}
        self._stream: TextIO = stream or sys.stdout
        self.on_terminal = self._stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._styled = self.on_terminal and not os.environ.get("NO_COLOR")
        self._phase = ""
        self._began = 0.0
        self._shown = ""

    def expected(self, *phases: str) -> int:
        """Return the seconds that phases are expected to take together, to the next five."""
        return 5 * max(1, -(-round(sum(self._expected[phase] for phase in phases)) // 5))

    def begin(self, phase: str) -> None:
        """Start the clock of a phase."""
        self._phase, self._began = phase, time.monotonic()

    def end(self) -> float:
        """Clear the progress and return the seconds of the phase."""
        self._show("")
        return time.monotonic() - self._began

    def update(self, detail: str) -> None:
        """Show what the phase is doing; only on a terminal."""
        seconds = time.monotonic() - self._began
        expected = max(1, round(self._expected.get(self._phase, 1)))
        self._show(f"  {seconds:3.0f} s of about {expected} s  {detail}")

    def print(self, text: str) -> None:
        """Print lines."""
        shown, self._shown = self._shown, ""
        self._write(f"{START_OF_LINE if shown else ''}{text}\n")

    def row(self, subject: str, text: str, *notes: str, done: bool = False) -> None:
        """Print a subject and its text, then notes below the text; `done` marks a success."""
        mark = f"{self._style(GREEN, '✓')} " if done else ""
        width = INDENT - len("✓ " if done else "")
        self.print(f"{mark}{self.bold(f'{subject:{width}}')}{text}")
        for note in notes:
            self.print(self._style(DIM, f"{'':{INDENT}}{note}"))

    def bold(self, text: str) -> str:
        """Return a heading."""
        return self._style(BOLD, text)

    def _style(self, code: str, text: str) -> str:
        return f"{code}{text}{RESET}" if self._styled else text

    def _show(self, line: str) -> None:
        """Replace the progress by a line that fits the terminal."""
        fitting = line[: shutil.get_terminal_size().columns - 1]
        if self.on_terminal and fitting != self._shown:
            self._shown = fitting
            self._write(f"{START_OF_LINE}{self._style(DIM, fitting) if fitting else ''}")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self.on_terminal = False
            self._stream = io.StringIO()
