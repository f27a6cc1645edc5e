"""Mutation tests of the decision modules: change one expression at a time and see whether a test fails.

    python -m proofs.mutate [part of a module's path ...]

Runs mutmut on a copy of the tree, one module after the other, with the tests that `mutation.toml`
names for it. Updates `results/mutation.json` and the page made from it, `results/mutation.md`.
Ends with 1 if a module stays below the goal, or a survivor has no explanation in `mutation.toml`.

mutmut mutates functions and methods; it leaves out constants, properties and context managers.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from proofs.page import table
from tests.support import published
from tests.support.measurement import PROJECT
from tests.support.warehouse_server import warehouse_server

TABLE = Path(__file__).parent / "mutation.toml"
RESULTS = Path(__file__).parent / "results" / "mutation.json"
PAGE = RESULTS.with_suffix(".md")
GOAL = 95.0
"""Percent of a module's mutants that tests must kill."""
KILLED = (1, 3, 36, 24, 152, 255, -24)
"""mutmut's exit codes of a failed test, and of tests that no longer end."""
SURVIVED = (0, 5, 33)
"""mutmut's exit codes of passed tests, and of no test at all."""
COMMAND = "python -m proofs.mutate"


class Survivor(msgspec.Struct, frozen=True, order=True):
    """A mutant that no test noticed: its function, and the changed lines before and after."""

    function: str
    before: str
    after: str


class Explained(Survivor, frozen=True):
    """A known survivor, and why no test can notice it."""

    because: str


class Module(msgspec.Struct, frozen=True):
    """A module, its tests and its known survivors."""

    file: str
    tests: tuple[str, ...]
    survivor: tuple[Explained, ...] = ()

    @property
    def explained(self) -> dict[Survivor, str]:
        """The reason of each known survivor."""
        known = self.survivor
        return {Survivor(e.function, e.before.strip(), e.after.strip()): e.because for e in known}


class Result(msgspec.Struct):
    """Result of a module's mutants, with commit and day."""

    file: str
    commit: str
    measured: str
    killed: int
    total: int
    survivors: list[Survivor]

    @property
    def score(self) -> float:
        """Percent of the mutants that were killed."""
        return 100 * self.killed / self.total if self.total else 0.0


def modules() -> list[Module]:
    """Return the modules of `mutation.toml`."""
    return msgspec.convert(tomllib.loads(TABLE.read_text())["module"], list[Module])


def load() -> dict[str, Result]:
    """Return the stored results, by file."""
    stored = msgspec.json.decode(RESULTS.read_bytes(), type=list[Result])
    return {each.file: each for each in stored}


@contextmanager
def copied() -> Iterator[Path]:
    """Yield a copy of the tree in the layout that mutmut knows: packages below `src`."""
    names = published.git("ls-files", "-z", "-co", "--exclude-standard").split("\0")
    with tempfile.TemporaryDirectory(prefix="bms-mutation-") as folder:
        for name in names:
            if name and (PROJECT / name).is_file():
                copy = Path(folder, f"src/{name[8:]}" if name.startswith("include/") else name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(PROJECT / name, copy)
        yield Path(folder)


def mutate(tree: Path, module: Module, workers: int, environment: dict[str, str]) -> Result:
    """Test every mutant of a module in `tree`."""
    source = module.file.replace("include/", "src/", 1)
    shutil.rmtree(tree / "mutants", ignore_errors=True)
    settings = {
        "source_paths": ["src"],
        "only_mutate": [source],
        "also_copy": ["bench", "plugins", "proofs", "stack"],
        "pytest_add_cli_args_test_selection": module.tests,
    }
    lines = ["\n    ".join([f"{name} =", *map(str, values)]) for name, values in settings.items()]
    (tree / "setup.cfg").write_text("\n".join(["[mutmut]", *lines, ""]))
    log = mutmut(tree, environment, "run", "--max-children", str(workers))
    meta = tree / "mutants" / f"{source}.meta"
    codes = json.loads(meta.read_text())["exit_code_by_key"] if meta.exists() else {}
    unknown = {code for code in codes.values() if code not in (*KILLED, *SURVIVED)}
    if unknown or not codes:
        raise RuntimeError(f"{module.file}: no mutant, or unknown codes {unknown}\n{log[-3000:]}")
    survivors = [name for name, code in codes.items() if code in SURVIVED]
    return Result(
        module.file,
        published.commit(),
        datetime.now(UTC).date().isoformat(),
        len(codes) - len(survivors),
        len(codes),
        sorted(survivor(name, mutmut(tree, environment, "show", name)) for name in survivors),
    )


def survivor(name: str, difference: str) -> Survivor:
    """Return a mutant from its name and unified difference."""
    lines: dict[str, list[str]] = {"-": [], "+": []}
    for line in difference.splitlines():
        if line[:1] in lines and line[:3] not in ("---", "+++"):
            lines[line[0]].append(line[1:].strip())
    mangled = name.rpartition(".")[2].partition("__mutmut_")[0]
    function = mangled.removeprefix("x_").removeprefix("x").replace("ǁ", ".").lstrip(".")
    return Survivor(function, "\n".join(lines["-"]), "\n".join(lines["+"]))


def mutmut(tree: Path, environment: dict[str, str], *arguments: str) -> str:
    """Run mutmut in `tree` and return its output."""
    done = subprocess.run(  # noqa: S603 - the installed tool
        [Path(sys.executable).parent / "mutmut", *arguments],
        cwd=tree,
        env={**os.environ, **environment},
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout


def page(results: dict[str, Result]) -> str:
    """Return the page of the results, in the order of `mutation.toml`."""
    known = [(each, results[each.file]) for each in modules() if each.file in results]
    latest = max((found for _, found in known), key=lambda found: found.measured)
    cells = (
        (f"`{each.file}`", each.total, each.killed, f"{each.score:.1f} %", each.commit)
        for _, each in known
    )
    return f"""# Mutation tests

Measured by `{COMMAND}` at commit {latest.commit} on {latest.measured}, or at the commit of a row.

Changes one expression of a decision module at a time (mutmut) and runs the module's tests.
Goal: {GOAL:.0f} % killed, and a reason for every survivor, in [mutation.toml](../mutation.toml). Not mutated: constants,
properties, context managers.

{table(("Module", "Mutants", "Killed", "Score", "Commit"), cells)}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="only modules whose path contains one of these")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    failed = False
    with copied() as tree, warehouse_server(durable=False) as server:
        for module in modules():
            if options.parts and not any(part in module.file for part in options.parts):
                continue
            found = mutate(tree, module, options.workers, {"BMS_TEST_POSTGRES": server.uri})
            results = {**load(), module.file: found}
            kept = msgspec.json.encode([results[name] for name in sorted(results)])
            RESULTS.write_bytes(msgspec.json.format(kept, indent=1))
            PAGE.write_text(page(results))
            print(
                f"{module.file}: {found.killed} of {found.total}, {found.score:.1f} %", flush=True
            )
            for each in module.explained.keys() - set(found.survivors):
                print(f"  killed by now, so needs no explanation: {each.after}", flush=True)
            unexplained = [each for each in found.survivors if each not in module.explained]
            for each in unexplained:
                print(f"  {each.function}:\n    - {each.before}\n    + {each.after}", flush=True)
            failed |= bool(unexplained) or found.score < GOAL
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
