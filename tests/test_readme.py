"""The README: figures are those of the published tables, the size stays readable, the demo is first."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.words import words
from tests.test_docs import rows

pytestmark = pytest.mark.bookkeeping

PROJECT = Path(__file__).parent.parent
README = (PROJECT / "README.md").read_text()
FLAT = " ".join(README.split())
PROOF = (PROJECT / "docs/proof.md").read_text()


def curve(name: str) -> list[list[str]]:
    """Return the rows of a curve of the proofs."""
    (text,) = re.findall(rf"<!-- curve {name} -->\n(.*?)<!-- /curve {name} -->", PROOF, re.DOTALL)
    return [row for row in rows(text) if len(row) < 12]


def test_the_demo_is_in_the_first_words() -> None:
    assert words(README.partition("make demo")[0]) <= 150


def test_figures_of_duplicates() -> None:
    lags = [row for row in curve("creation") if re.fullmatch(r"[\d.]+( to [\d.]+)?", row[0])]
    assert {row[2] for row in lags} == {"0.0"}
    assert (
        f"lag up to {lags[-1][0].split(' to ')[-1]} times as long, 0 in {lags[-1][1]} creates"
        in FLAT
    )


def test_figures_of_moving_rows() -> None:
    churn = curve("mirror")
    assert {row[6] for row in churn} == {"0"}
    read = sum(int(row[5].replace(",", "")) for row in churn)
    unstable, readings = (
        sum(map(int, each)) for each in zip(*(row[4].split(" of ") for row in churn), strict=True)
    )
    assert f"one pass misses up to {max(float(row[2]) for row in churn):.0f} of 1,000" in FLAT
    assert f"0 of {read:,} missed, {unstable} of {readings:,} readings unstable" in FLAT


def test_figures_of_late_changes() -> None:
    found = {(row[0][:2], row[1]): row for row in curve("invoices")}
    window = found["2%", "last 30 days"]
    ours = found["2%", "look back, budget 120"]
    paid = found["ev", "look back, defaults"]
    assert (
        f"a window of 30 days finds {window[5][:-1]} % within 32 runs, with {window[3]} requests a run"
        in FLAT
    )
    assert (
        f"look-back: {ours[5][:-1]} % within 32 runs if some invoices stay unpaid, with {ours[3]} requests a run"
        in FLAT
    )
    assert f"{paid[5][:-1]} % if all are paid in the end" in FLAT


def test_figures_of_losses() -> None:
    page = (PROJECT / "proofs/results/losses.md").read_text()
    table = rows(page.partition("| company |")[0])
    at_once = re.findall(
        r"^Held in the first night, in all companies: (.+)\.$", page, re.MULTILINE
    )[0].split(", ")
    losses = len(table) + len(at_once)
    missed = [cell for row in table for cell in row[1:] if "none" in cell]
    (nights, years) = re.findall(r"Together (\d+) held nights in (\d+) years", page)[0]
    assert (
        f"all {losses} losses, each simulated in six companies ({len(missed)} of the {6 * losses} cases only for some starting nights)"
        in FLAT
    )
    assert f"{nights} clean nights in {years} years" in FLAT


def test_figures_of_speed() -> None:
    loads = rows(PROOF.partition("\n## Speed\n")[2].partition("\nOnly ours")[0])
    ratios = [float(row[1]) / float(row[5]) for row in loads if len(row) > 5 and row[5]]
    assert f"first loads take {min(ratios):.1f} to {max(ratios):.1f} times as long" in FLAT


def test_figures_of_alarms() -> None:
    alarms = rows(PROOF.partition("\n## Alarms\n")[2].partition("\n## ")[0])
    assert len(alarms) == 6
    assert max(int(row[3].removesuffix(" s")) for row in alarms) <= 20
    assert "six of six failures reported within 20 s, with checks every 20 s" in FLAT


def test_requirements_are_those_of_the_wheel() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert f"\n{project['version']}: " in README
    assert project["requires-python"] == ">=3.11,<3.14"
    assert "Python 3.11 to 3.13" in FLAT
