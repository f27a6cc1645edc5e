"""Command line and printed page of a proof."""

import argparse
import inspect
import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from tests.support.published import stamp


def command(main: Callable[..., bool | None]) -> NoReturn:
    """Run `main` with an option for each of its keywords; exit with 1 if it returns False.

    The default of a keyword gives the option's type; a tuple holds the names to choose from,
    or numbers that others may replace.
    """
    options = argparse.ArgumentParser(
        description=sys.modules[main.__module__].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, each in inspect.signature(main).parameters.items():
        option, default = f"--{name.replace('_', '-')}", each.default
        match default:
            case False:
                options.add_argument(option, action="store_true")
            case (int(), *_):
                options.add_argument(option, nargs="*", type=int, default=default)
            case tuple() as names:
                options.add_argument(option, nargs="+", choices=names, default=names)
            case _:
                options.add_argument(option, type=type(default), default=default)
    logging.disable(logging.WARNING)  # simulated faults need no log
    sys.exit(main(**vars(options.parse_args())) is False)


def heading(title: str, text: str = "") -> None:
    """Print the title of a page, and where its figures come from."""
    print(f"# {title}\n\n{text}{stamp()}", end="\n\n")


def rows(
    head: Sequence[str], cells: Iterable[Sequence[object]], *, texts: int = 1
) -> Iterator[str]:
    """Yield the lines of a Markdown table; all columns after the first `texts` are numbers."""
    for row in (head, ["---"] * texts + ["---:"] * (len(head) - texts)):
        yield f"| {' | '.join(row)} |"
    for each in cells:
        yield f"| {' | '.join(map(str, each))} |"


def table(head: Sequence[str], cells: Iterable[Sequence[object]], *, texts: int = 1) -> str:
    """Return a Markdown table."""
    return "\n".join(rows(head, cells, texts=texts))


def show(head: Sequence[str], cells: Iterable[Sequence[object]], *, texts: int = 1) -> None:
    """Print a Markdown table, each row once it is known."""
    for line in rows(head, cells, texts=texts):
        print(line, flush=True)
    print(flush=True)


def fill(page: Path, name: str, text: str) -> None:
    """Write a text between the marks of a name in a page, where it has such marks."""
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    page.write_text(marks.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page.read_text()))
