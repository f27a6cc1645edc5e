"""Curves of where the guarantees end: creation beyond the settle time, mirrors under churn, late invoice changes.

    python -m proofs.curve [--quick] [--only creation mirror invoices]

Writes tables into `docs/proof.md` between their marks, and plots to `docs/pictures/`. The engines are the real ones, in virtual
time.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from proofs import lookback_invoices as lookback
from proofs.curve_creation import creations
from proofs.page import command, fill, table
from proofs.plots import PICTURES, Axis, plot
from proofs.simulation.clock import play
from proofs.simulation.mirror import ORDERS
from proofs.simulation.moving_list import MovingList, read
from proofs.simulation.recorder import draws
from tests.support.published import stamp

PROJECT: Final = Path(__file__).parent.parent
PROOF: Final = PROJECT / "docs" / "proof.md"

CHURN: Final = (0, 0.1, 0.2, 0.3, 0.4, 0.5)

# Mirrors


def churn(chance: float, readings: int) -> Counter[str]:
    """Read lists of 200 rows, in pages of 20, in which `chance` of the requests find each kind of change.

    Return the rows, those that one and two passes lack, the readings that end as unstable,
    and the rows of all others with those that they lack; a mirror asks for their details before it deletes.
    """
    found: Counter[str] = Counter()

    async def once(seed: int) -> None:
        orders = [order for order in ORDERS if order != "none"]
        moving = MovingList(
            draws(seed), rows=200, order=orders[seed % len(orders)],
            inserted=chance, deleted=chance, edited=chance,
        )  # fmt: skip
        before = set(moving.states)
        reading, seen = await read(moving, size=20)
        here = before & set(moving.states)
        one, two = (set(each.rows) for each in reading.passes[:2])
        found.update(rows=len(here), one=len(here - one), two=len(here - one - two))
        if reading.agreed:
            found.update(complete=len(here), missed=len(here - seen))
        else:
            found.update(unstable=1)

    for seed in range(readings):
        play(once(seed))
    return found


def churns(readings: int) -> str:
    """Return the table of mirrors, and draw its picture."""
    rows = [(chance, churn(chance, readings)) for chance in CHURN]

    def lacks(what: str, of: str = "rows") -> list[tuple[float, float]]:
        return [(chance, 1000 * each[what] / max(each[of], 1)) for chance, each in rows]

    lines = {
        "what ours lacks": lacks("missed", "complete"),
        "what one pass lacks": lacks("one"),
        "what two passes lack": lacks("two"),
    }
    highest = max(share for points in lines.values() for _, share in points)
    top = 10 * -(-int(highest + 1) // 10)
    picture = plot(
        Axis("share of requests that find a row inserted, one deleted, one edited", CHURN, ".0%"),
        Axis("missed rows per 1,000", [top * n / 5 for n in range(6)]),
        lines,
    )
    (PICTURES / "mirror-churn.svg").write_text(picture)
    return table(
        ["requests that find changes", "rows", "one pass", "two passes", "unstable readings", "rows of complete readings", "of these missed"],
        [
            [f"{chance:.0%} of each kind", f"{each['rows']:,}", f"{1000 * each['one'] / each['rows']:.2f}",
             f"{1000 * each['two'] / each['rows']:.2f}", f"{each['unstable']} of {readings}",
             f"{each['complete']:,}", each["missed"]]
            for chance, each in rows
        ],
    )  # fmt: skip


# Late changes of invoices

OPEN: Final = f"{lookback.NEVER_PAID:.0%} never paid"
PAID: Final = "every invoice paid"


FURTHER: Final = {
    "rotation 30": lookback.ours(rotation=30),
    "interval up to 16": lookback.ours(longest=16),
    "look back 60": lookback.ours(days=60),
    "gap 6": lookback.ours(gap=6),
}


def late_changes(budgets: Sequence[int], windows: Sequence[int]) -> str:
    """Return recall by requests of the look back and of fixed windows, and draw its picture."""
    mine = [
        lookback.simulate(f"look back, budget {each}", lookback.ours(budget=each))
        for each in budgets
    ]
    fixed = [lookback.simulate(f"last {each} days", lookback.fixed(each)) for each in windows]
    further = [lookback.simulate(f"look back, {name}", plan) for name, plan in FURTHER.items()]
    paid = [
        lookback.simulate(f"look back, {name}", plan, never_paid=0)
        for name, plan in {
            "defaults": lookback.ours(),
            "rotation 30": FURTHER["rotation 30"],
        }.items()
    ]
    companies = {OPEN: [*mine, *fixed, *further], PAID: paid}

    def points(outcomes: Sequence[lookback.Outcome], runs: int) -> list[tuple[float, float]]:
        return [(each.requests_per_run, each.seen[runs]) for each in outcomes]

    most = max(each.requests_per_run for each in [*mine, *fixed])
    picture = plot(
        Axis("requests a run", [round(most / 5) * n for n in range(6)], ".0f"),
        Axis("late changes seen", (0, 0.25, 0.5, 0.75, 1), ".0%"),
        {
            "look back, after 32 runs": points(mine, 32),
            "fixed windows, after 32 runs": points(fixed, 32),
            "look back, after 7 runs": points(mine, 7),
            "fixed windows, after 7 runs": points(fixed, 7),
        },
        dots=True,
    )
    (PICTURES / "late-changes.svg").write_text(picture)
    return table(
        ["company", "policy", "days a run", "requests a run", "seen after 7 runs", "seen after 32 runs", "seen after 32 runs, for each request of a run"],
        [
            [company, each.name, f"{each.days_per_run:.0f}", f"{each.requests_per_run:.0f}",
             f"{each.seen[7]:.0%}", f"{each.seen[32]:.0%}",
             f"{each.seen[32] / each.requests_per_run:.1%}"]
            for company, outcomes in companies.items() for each in outcomes
        ],
    )  # fmt: skip


CURVES: Final = ("creation", "mirror", "invoices")


def main(*, quick: bool = False, only: Sequence[str] = CURVES) -> None:
    """Draw the curves and write the results, with fewer runs for each point if `quick`."""
    curves: dict[str, Callable[[], str]] = {
        "creation": lambda: creations(3 if quick else 30),
        "mirror": lambda: churns(10 if quick else 300),
        "invoices": lambda: late_changes(
            (60, 120) if quick else (30, 60, 120, 240),
            (7, 30, 90) if quick else (7, 30, 90, 180, 365),
        ),
    }
    for name in only:
        text = curves[name]()
        fill(PROOF, f"curve {name}", f"{text}\n\n{stamp()}")
        print(text, end="\n\n", flush=True)


if __name__ == "__main__":
    command(main)
