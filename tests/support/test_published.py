"""Every published figure names its command, day and commit; pages and scripts agree."""

import csv
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import published
from tests.support.published import STAMP

pytestmark = pytest.mark.bookkeeping

PROJECT = Path(__file__).parents[2]
PAGES = sorted(PROJECT.glob("*/results/*.md"))
DATA = sorted(PROJECT.glob("bench/results/*.csv"))
PROOF = (PROJECT / "docs/proof.md").read_text()
HEADER = re.compile(r"^\|(.+)\|\n\|[-:| ]+\|$", re.MULTILINE)
CURVES = re.findall(r"<!-- curve (\w+) -->\n(.*?)<!-- /curve \w+ -->", PROOF, re.DOTALL)


def scripts(page: str) -> list[Path]:
    """Return the scripts that a page's stamps name."""
    commands = " ".join(found["command"] for found in STAMP.finditer(page))
    names = re.findall(r"python -m (bench|proofs)\.(\w+)", commands)
    return [PROJECT / folder / f"{name}.py" for folder, name in names]


def sources(script: Path, known: frozenset[Path] = frozenset()) -> str:
    """Return the text of a script and of the modules of its package that it imports."""
    text = script.read_text()
    found = set(re.findall(r"^from (bench|proofs)(\.[\w.]+)? import (\w+)", text, re.MULTILINE))
    for folder, dotted, name in found:
        module = PROJECT / folder / f"{(dotted[1:] or name).replace('.', '/')}.py"
        if module.exists() and module not in known:
            text += sources(module, known | {script, module})
    return text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_of_results_names_its_command_commit_and_day(page: Path) -> None:
    found = scripts(page.read_text())
    assert found, f"{page.name} has no line of published.stamp"
    assert all(script.exists() for script in found)


@pytest.mark.parametrize("text", [text for _, text in CURVES], ids=[name for name, _ in CURVES])
def test_a_curve_names_its_command_commit_and_day(text: str) -> None:
    (found,) = STAMP.finditer(text)
    assert found["command"].startswith("python -m proofs.curve")


def test_every_figure_of_the_proofs_names_its_command_and_commit() -> None:
    table = PROOF.partition("| What | Result | Command |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    assert len(rows) > 20
    for what, _, command, taken, _ in rows:
        assert re.fullmatch(r"`[^`]+`|the same", command), what
        assert re.match(r"\d{4}-\d\d-\d\d, commit [0-9a-f]{7,}", taken), what


@pytest.mark.parametrize("file", DATA, ids=lambda file: file.name)
def test_a_file_of_loads_names_its_command_and_day_and_has_the_columns_of_its_script(
    file: Path,
) -> None:
    loads = list(csv.DictReader(file.read_text().splitlines()))
    assert loads
    assert {each["command"].split()[2] for each in loads} == {"bench.comparison"}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", each["day"]) for each in loads)
    source = (PROJECT / "bench/comparison_report.py").read_text()
    assert [column for column in loads[0] if f'"{column}"' not in source] == []


def test_every_named_commit_is_in_the_history() -> None:
    try:
        if published.git("rev-parse", "--is-shallow-repository") != "false\n":
            pytest.skip("this checkout has no whole history")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no checkout")
    texts = [page.read_text() for page in PAGES] + [PROOF]
    named = {found["commit"] for text in texts for found in STAMP.finditer(text)}
    named |= {
        each["commit"] for file in DATA for each in csv.DictReader(file.read_text().splitlines())
    }
    named |= set(re.findall(r"\d, commit ([0-9a-f]{7,})", PROOF))
    for commit in named:
        known = ["git", "merge-base", "--is-ancestor", commit, "HEAD"]
        assert subprocess.run(known, cwd=PROJECT, check=False).returncode == 0, commit  # noqa: S603 - as above


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_columns_of_a_page_are_those_of_its_script(page: Path) -> None:
    text = page.read_text()
    source = " ".join(sources(script) for script in scripts(text))
    for header in HEADER.findall(text):
        for cell in filter(None, (cell.strip() for cell in header.split("|"))):
            stem = re.sub(r"\d[\d,.]*", "", cell)  # figures come from options
            parts = [part for part in re.split(r"[`,]|\s{2,}", stem) if part.strip()]
            assert all(part.strip() in source for part in parts), f"{cell!r} is not in the script"


def test_a_stamp_is_read_back() -> None:
    found = STAMP.match(published.stamp("python -m proofs.soak --minutes 60"))
    assert found
    assert found["command"] == "python -m proofs.soak --minutes 60"
