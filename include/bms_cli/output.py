"""Output of the command: text or JSON on standard output, errors on standard error, exit codes."""

import json
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

WELL: Final = 0
"""Done, or everything is well."""
FAILED: Final = 1
"""Something needs an action, or the command was refused and changed only what it states."""
UNKNOWN: Final = 2
"""No answer: an invalid option or setting, no access to the warehouse, or something not checked."""
NOTHING_FOUND: Final = 3
"""The named thing does not exist."""

WIDEST: Final = 10_000
"""Columns of a table in a file or a pipe, at most."""

_CONTROLS: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class _Output(Console):
    """A closed pipe, as in `bms status | head`, ends the output and neither the command nor its exit code.

    Texts of the service and names of files control no terminal.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(_CONTROLS.sub("\ufffd", text), **options)

    def on_broken_pipe(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def _console(*, stderr: bool = False) -> Console:
    return _Output(stderr=stderr, highlight=False, markup=False, soft_wrap=True)


def show(text: str) -> None:
    """Print a line of text."""
    _console().print(text)


def show_json(result: dict[str, Any]) -> None:
    """Print the result as JSON, for scripts."""
    _console().out(json.dumps(result, indent=2))


def show_result(as_json: bool, result: dict[str, Any], lines: Iterable[str]) -> None:
    """Print the result as JSON, or as lines of text."""
    if as_json:
        show_json(result)
    for line in () if as_json else lines:
        show(line)


def show_error(text: str) -> None:
    """Print an error."""
    _console(stderr=True).print(text)


def show_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, in full width unless a terminal is narrower, where cells are folded and not cut."""
    console, table = _console(), Table(title=title, title_justify="left")
    for number, name in enumerate(head):
        table.add_column(name, overflow="fold", no_wrap=not number)
    for row in rows:
        table.add_row(*row)
    if not console.is_terminal:
        console.width = WIDEST
        console.width = max(len(title), console.measure(table).maximum)
    console.print(table, soft_wrap=False)
