"""Take one line of protection away at a time, and see whether a test notices.

    python -m bench.mutants [name ...]

Each mutant of `mutants.toml` is applied to a copy of the tree and its module's tests are run there,
to the first failure and for at most a minute. With `--whole`, what survives is run against the whole
suite. In the end the tests that failed are run on the untouched copy: one that fails there too has
noticed nothing. Ends with 1 where more than one in twenty survives.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

PROJECT = Path(__file__).parent.parent
TABLE = Path(__file__).parent / "mutants.toml"
RESULT = Path(__file__).parent / "results" / "mutants.md"
LIMIT = 60
WHOLE_LIMIT = 1_800
GOAL = 0.95
OWN = ("include", "plugins", ".")


@dataclass(frozen=True)
class Mutant:
    """A protection, the text that gives it, what stands there without it, and who should notice."""

    name: str
    file: str
    take: str
    give: str
    tests: tuple[str, ...]

    def apply(self, tree: Path) -> None:
        """Take the protection away in `tree`; raise `ValueError` unless its text is there once."""
        path = tree / self.file
        text = path.read_text()
        if text.count(self.take) != 1:
            found = text.count(self.take)
            raise ValueError(f"{self.name}: its text is {found} times in {self.file}, not once")
        path.write_text(text.replace(self.take, self.give))


Row = tuple[Mutant, str | None]
"""A mutant, and which test noticed."""


def mutants() -> list[Mutant]:
    """Return the table."""
    rows = tomllib.loads(TABLE.read_text())["mutant"]
    return [Mutant(**{**row, "tests": tuple(row["tests"])}) for row in rows]


@contextmanager
def copied() -> Iterator[Path]:
    """Return a copy of the tree as it stands, ignored files left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - the git that the checkout came with
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in filter(None, listed.split("\0")):
            if (PROJECT / name).exists():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(PROJECT / name, tree / name)
        yield tree


def failed(tree: Path, tests: Sequence[str], limit: float) -> str | None:
    """Run tests in `tree`; return the first failure, or None where all pass."""
    code, lines = ran(tree, ["-x", *tests], limit)
    if code is None:
        return f"no end within {limit:g} s"
    if code == 0:
        return None
    return lines[0] if lines else f"pytest ended with {code}"


def broken(tree: Path, noticed: Collection[str]) -> set[str]:
    """Return those of the failures that come without any mutant too: they noticed nothing."""
    tests = {each: each.split(maxsplit=1)[1] for each in noticed if "::" in each}
    _, lines = ran(tree, sorted(tests.values()), WHOLE_LIMIT)
    again = {line.split(maxsplit=1)[1] for line in lines}
    unloaded = {each for each in noticed if each.startswith("ERROR") and "::" not in each}
    return unloaded | {each for each, test in tests.items() if test in again}


def ran(tree: Path, arguments: Sequence[str], limit: float) -> tuple[int | None, list[str]]:
    """Run pytest in `tree`; return how it ended (None: not within `limit`), and what failed."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    path = os.pathsep.join(str(tree / folder) for folder in OWN)
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and tests
        [*command, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        # pytest ends its servers itself when interrupted.
        process.terminate()
        process.communicate()
        return None, []
    lines = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return process.returncode, [line.split(" - ")[0] for line in lines]


def main(argv: Sequence[str] | None = None) -> int:
    """Try every mutant, or those named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only mutants whose name contains one of these")
    parser.add_argument("--whole", action="store_true", help="survivors against the whole suite")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for a mutant's tests")
    given = parser.parse_args(argv)
    chosen = [
        each
        for each in mutants()
        if not given.names or any(part in each.name for part in given.names)
    ]
    rows: list[Row] = []
    with copied() as tree:
        for number, mutant in enumerate(chosen, 1):
            started = time.monotonic()
            noticed = tried(tree, mutant, given.limit, whole=given.whole)
            rows.append((mutant, noticed))
            seconds = time.monotonic() - started
            said = noticed or "SURVIVED"
            print(f"[{number}/{len(chosen)}] {mutant.name}: {said} ({seconds:.0f} s)", flush=True)
        red = broken(tree, [noticed for _, noticed in rows if noticed])
    for test in sorted(red):
        print(f"fails without any mutant too: {test}")
    rows = [(mutant, None if noticed in red else noticed) for mutant, noticed in rows]
    killed = sum(noticed is not None for _, noticed in rows)
    print(f"{killed} of {len(rows)} noticed")
    if not given.names:
        RESULT.write_text(report(rows))
    return 0 if killed >= GOAL * len(rows) else 1


def tried(tree: Path, mutant: Mutant, limit: float, *, whole: bool) -> str | None:
    """Return which test notices that the protection is gone; None where none does."""
    kept = (tree / mutant.file).read_bytes()
    mutant.apply(tree)
    try:
        noticed = failed(tree, mutant.tests, limit)
        if noticed is None and whole:
            noticed = failed(tree, ["-n", "logical", "--no-loadscope-reorder"], WHOLE_LIMIT)
    finally:
        (tree / mutant.file).write_bytes(kept)
    return noticed


def report(rows: Sequence[Row]) -> str:
    """Return the table of what was tried and which test noticed."""
    killed = sum(noticed is not None for _, noticed in rows)
    lines = [
        "# Safety mutants",
        "",
        f"`python -m bench.mutants`: {killed} of {len(rows)} noticed, {date.today()}.",  # noqa: DTZ011 - where it was run
        "",
        "| Without | In | Noticed by |",
        "|---|---|---|",
    ]
    for mutant, noticed in rows:
        by = (noticed or "**nobody**").removeprefix("FAILED ").replace("|", "\\|")
        lines.append(f"| {mutant.name} | `{mutant.file}` | {by} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
