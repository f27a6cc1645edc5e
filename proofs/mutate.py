"""Mutation tests of the decision modules: change one expression at a time and see whether a test fails.

    python -m proofs.mutate [part of a module's path ...]

Runs mutmut on a copy of the tree, one module after the other, with the tests that `mutation.toml`
names for it. Updates `results/mutation.json` and the page made from it, `results/mutation.md`.
The page also shows how many branches of the module these tests take.
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
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stack.postgres import Postgres
from stack.processes import Children, until
from tests.support import published
from tests.support.measurement import PROJECT

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


@dataclass(frozen=True, order=True)
class Survivor:
    """A mutant that no test noticed: its function, and the changed lines before and after."""

    function: str
    before: str
    after: str


@dataclass(frozen=True)
class Module:
    """A module, its tests, and why each known survivor can't be noticed."""

    file: str
    tests: tuple[str, ...]
    explained: dict[Survivor, str]


@dataclass
class Result:
    """Result of a module's mutants, with commit and day."""

    file: str
    commit: str
    measured: str
    killed: int = 0
    total: int = 0
    branches: int = 0
    branches_taken: int = 0
    survivors: list[Survivor] = field(default_factory=list)

    @property
    def score(self) -> float:
        """Percent of the mutants that were killed."""
        return 100 * self.killed / self.total if self.total else 0.0


def modules() -> list[Module]:
    """Return the modules of `mutation.toml`."""
    found = []
    for row in tomllib.loads(TABLE.read_text())["module"]:
        explained = {
            Survivor(each["function"], each["before"].strip(), each["after"].strip()): each[
                "because"
            ]
            for each in row.get("survivor", ())
        }
        found.append(Module(row["file"], tuple(row["tests"]), explained))
    return found


@contextmanager
def copied() -> Iterator[Path]:
    """Yield a copy of the tree in the layout that mutmut knows: packages below `src`."""
    with tempfile.TemporaryDirectory(prefix="bms-mutation-") as folder:
        tree = Path(folder)
        for name in filter(
            None, published.git("ls-files", "-z", "-co", "--exclude-standard").split("\0")
        ):
            if (PROJECT / name).is_file():
                copy = tree / (f"src/{name[8:]}" if name.startswith("include/") else name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(PROJECT / name, copy)
        yield tree


@contextmanager
def database() -> Iterator[str]:
    """Run one PostgreSQL for the tests of all mutants; yield its URI."""
    folder = Path(tempfile.mkdtemp(prefix="bms-mutation-"))
    tag = f"mutation-{os.getpid()}"
    children = Children(tag, folder)
    server = Postgres(folder / "data", tag, durable=False)
    try:
        if server.init_cluster(children).process.wait(timeout=60):
            raise RuntimeError("initdb failed")
        server.install_cluster()
        server.start(children)
        if not until(server.ready, 60):
            raise RuntimeError("PostgreSQL does not start")
        yield server.url("postgres")
    finally:
        server.stop()
        shutil.rmtree(folder)


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
    lines = [line for name, values in settings.items() for line in (f"{name}=", *indented(values))]
    (tree / "setup.cfg").write_text("\n".join(["[mutmut]", *lines, ""]))
    log = mutmut(tree, environment, "run", "--max-children", str(workers))
    meta = tree / "mutants" / f"{source}.meta"
    if not meta.exists():
        raise RuntimeError(f"mutmut made no mutant of {module.file}:\n{log[-3000:]}")
    codes: dict[str, int | None] = json.loads(meta.read_text())["exit_code_by_key"]
    unknown = {code for code in codes.values() if code not in (*KILLED, *SURVIVED)}
    if unknown:
        raise RuntimeError(f"mutmut ended with codes {unknown} in {module.file}:\n{log[-3000:]}")
    result = Result(
        module.file, published.commit(), datetime.now(UTC).date().isoformat(), total=len(codes)
    )
    result.killed = sum(code in KILLED for code in codes.values())
    result.branches_taken, result.branches = branches(module, environment)
    result.survivors = sorted(
        survivor(name, mutmut(tree, environment, "show", name))
        for name, code in codes.items()
        if code in SURVIVED
    )
    return result


def branches(module: Module, environment: dict[str, str]) -> tuple[int, int]:
    """Return how many branches of a module its tests take, of how many."""
    with tempfile.TemporaryDirectory() as folder:
        data, report = f"--data-file={folder}/data", Path(folder) / "report.json"
        tests = ["-m", "pytest", "-q", *module.tests]
        for command in (
            ["run", data, "--branch", f"--include={module.file}", *tests],
            ["json", data, "-o", str(report)],
        ):
            subprocess.run(  # noqa: S603 - our own interpreter
                [sys.executable, "-m", "coverage", *command],
                cwd=PROJECT,
                env={**os.environ, **environment},
                check=True,
                stdout=subprocess.DEVNULL,
            )
        totals = json.loads(report.read_text())["totals"]
    return totals["covered_branches"], totals["num_branches"]


def indented(values: Iterable[str]) -> list[str]:
    """Return the values of a list in an INI file."""
    return [f"    {value}" for value in values]


def survivor(name: str, difference: str) -> Survivor:
    """Return a mutant from its name and unified difference."""
    lines: dict[str, list[str]] = {"-": [], "+": []}
    for line in difference.splitlines():
        if line[:1] in lines and line[:3] not in ("---", "+++"):
            lines[line[0]].append(line[1:].strip())
    function = (
        name.rpartition(".")[2].partition("__mutmut_")[0].removeprefix("x_").removeprefix("x")
    )
    return Survivor(
        function.replace("ǁ", ".").lstrip("."), "\n".join(lines["-"]), "\n".join(lines["+"])
    )


def mutmut(tree: Path, environment: dict[str, str], *arguments: str) -> str:
    """Run mutmut in `tree` and return its output."""
    command = [str(Path(sys.executable).parent / "mutmut"), *arguments]
    done = subprocess.run(  # noqa: S603 - the installed tool
        command,
        cwd=tree,
        env={**os.environ, **environment},
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout


def load() -> dict[str, Result]:
    """Return the stored results, by file."""
    stored: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    return {
        row["file"]: Result(**{**row, "survivors": [Survivor(**each) for each in row["survivors"]]})
        for row in stored
    }


def page(results: dict[str, Result]) -> str:
    """Return the page of the results, in the order of `mutation.toml`."""
    known = [(each, results[each.file]) for each in modules() if each.file in results]
    latest = max((found for _, found in known), key=lambda found: found.measured)
    lines = [
        "# Mutation tests",
        "",
        f"Measured by `{COMMAND}` at commit {latest.commit} on {latest.measured}, or each module at the",
        "commit of its row.",
        "",
        "Changes one expression of a decision module at a time (mutmut) and runs the module's tests.",
        f"Goal: tests kill at least {GOAL:.0f} % of a module's mutants, and every",
        "survivor has a reason. Not mutated: constants, properties and context managers.",
        "",
        "| Module | Mutants | Killed | Score | Branches taken | Commit | Measured |",
        "|---|--:|--:|--:|--:|---|---|",
        *(
            f"| `{module.file}` | {found.total} | {found.killed} | {found.score:.1f} % "
            f"| {found.branches_taken} of {found.branches} | {found.commit} | {found.measured} |"
            for module, found in known
        ),
        "",
        "## Survivors",
    ]
    for module, found in known:
        if not found.survivors:
            continue
        lines += [
            "",
            f"### `{module.file}`",
            "",
            "| Function | Before | After | Why no test notices |",
        ]
        lines += ["|---|---|---|---|"]
        for each, count in sorted(Counter(found.survivors).items()):
            times = f" ({count} times)" if count > 1 else ""
            because = module.explained.get(each, "**not explained**")
            cells = [f"`{each.function}`{times}", code(each.before), code(each.after), because]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    """Return lines of code as a table's cell."""
    lines = [line.replace("|", "\\|") for line in text.splitlines()] or [""]
    return "<br>".join(f"`` {line} ``" if "`" in line else f"`{line}`" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="only modules whose path contains one of these")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    failed = False
    with copied() as tree, database() as uri:
        for module in modules():
            if options.parts and not any(part in module.file for part in options.parts):
                continue
            found = mutate(tree, module, options.workers, {"BMS_TEST_POSTGRES": uri})
            results = {**load(), module.file: found}
            RESULTS.write_text(
                json.dumps([asdict(results[name]) for name in sorted(results)], indent=1)
            )
            PAGE.write_text(page(results))
            unexplained = [each for each in found.survivors if each not in module.explained]
            print(
                f"{module.file}: {found.killed} of {found.total} killed, {found.score:.1f} %",
                flush=True,
            )
            for each in module.explained.keys() - set(found.survivors):
                print(f"  killed by now, so needs no explanation: {each.after}", flush=True)
            for each in unexplained:
                print(f"  {each.function}:\n    - {each.before}\n    + {each.after}", flush=True)
            failed |= bool(unexplained) or found.score < GOAL
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
