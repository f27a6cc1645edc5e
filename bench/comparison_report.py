"""Report of a comparison as a CSV file: medians of each load, and ratios within a round.

Ours, the ceilings and dlt (tuned and on Arrow) keep 16 requests in flight; the others send one after another, by design. The ceiling
splits responses into JSON values and COPYs them undecoded, merges once, and does nothing else; the fastest of three variants counts,
and for further loads one that compares. It reads contacts once; ours reads them twice, and assigned contacts once more, for
agreement; peers read them once. Only ours stores versions and raw responses, and quarantines invalid rows; dlt and pandas store
amounts in double precision here. `s` is from the process's start to its exit, `s in the load` without imports; bytecode is compiled.
CPU seconds are of the loading processes, imports included; memory is VmHWM of the largest process; requests are counted for ours. Rows, sums of ids and amounts,
and lengths of names are equal after every load. Ratios are to the ceiling of the same round: on a busy machine the ratio of CPU
seconds is worth more. Where the sandbox used more than 70 % of a core the row is void: the sandbox itself was measured.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.support.published import STAMP, stamp

OURS, CEILING, COMPARE = "bms-airflow", "ceiling", "ceiling: fetch, split, compare"
FIRST, AGAIN, CHANGED = "first load", "nothing changed", "5 % changed"
REQUIREMENTS = Path(__file__).parent / "peers" / "requirements"
VOID = 0.7
"""Share of a core above which the sandbox itself was measured."""


class Case(NamedTuple):
    """What is loaded: rows of a shape, days or rows per request (`step`), seconds per request."""

    work: str
    shape: str
    step: int
    latency: float

    @property
    def name(self) -> str:
        """The heading of the case."""
        if self.work == "contacts":
            what = f"contacts, pages of {self.step:,}"
        else:
            days = "one day" if self.step == 1 else f"{self.step} days"
            what = f"invoices, {self.shape} rows, {days} per request"
        return f"{what}, {self.latency * 1000:.0f} ms latency"


class Peer(NamedTuple):
    """An alternative tool: its name, environment and script of `bench/peers`."""

    name: str
    environment: str
    script: str
    variant: str
    slow: bool = False

    @property
    def lock(self) -> Path:
        """The lock file of the peer's packages."""
        return REQUIREMENTS / f"{self.environment}.lock"


class Measure(NamedTuple):
    """One load; CPU in seconds, `wal` and `peak` in bytes, `sandbox` in cores, `load` before it."""

    case: Case
    round: int
    what: str
    who: str
    process: float
    """Seconds from the process's start to its exit."""
    seconds: float
    """Seconds in the load, without imports."""
    cpu: float
    server_cpu: float
    wal: float
    peak: float
    requests: int
    sandbox: float
    load: float


class Size(NamedTuple):
    """How much was loaded, and how many minutes all of it took."""

    days: int
    contacts: int
    minutes: float

    def rows(self, case: Case) -> int:
        """Return the number of rows of a case."""
        return self.contacts if case.work == "contacts" else 1000 * self.days


Found = list[Measure]


COLUMNS = (
    ("s", lambda each: each.process, "{:.1f}"),
    ("s in the load", lambda each: each.seconds, "{:.1f}"),
    ("CPU s", lambda each: each.cpu, "{:.1f}"),
    ("PostgreSQL's CPU s", lambda each: each.server_cpu, "{:.1f}"),
    ("WAL MB", lambda each: each.wal / 1e6, "{:.0f}"),
    ("peak MB", lambda each: each.peak / 1e6, "{:.0f}"),
    ("requests", lambda each: each.requests, "{:.0f}"),
    ("sandbox's CPU", lambda each: each.sandbox, "{:.0%}"),
)
STAMPED = ("command", "commit", "changed", "day")


def write(
    into: Path,
    name: str,
    found: Found,
    peers: Sequence[Peer],
    size: Size,
    failed: Mapping[tuple[str, str], str],
) -> str:
    """Write `<name>.csv`; return the text."""
    into.mkdir(parents=True, exist_ok=True)
    made = STAMP.match(stamp())
    assert made is not None
    load = f"{max(each.load for each in found):.1f}"
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["case", "load", "by", *(name for name, _, _ in COLUMNS), "runs", "ratio", "ratio of CPU", "note", *STAMPED, "load average"])  # fmt: skip
    for case in dict.fromkeys(each.case for each in found):
        some = [each for each in found if each.case == case]
        for row in medians(some, peers):
            rows.writerow([f"{size.rows(case):,} {case.name}", *row, *made.group(*STAMPED), load])
    for (who, work), why in failed.items():
        rows.writerow([work, "", who, *[""] * (len(COLUMNS) + 3), f"failed: {why}", *made.group(*STAMPED), load])  # fmt: skip
    (into / f"{name}.csv").write_text(text.getvalue())
    return text.getvalue()


def medians(found: Found, peers: Sequence[Peer]) -> Iterator[list[str]]:
    """Yield the loads of one case: medians, number of runs, and ratios to the ceiling."""
    bases = {(each.what, each.round): each for each in found if each.who in (CEILING, COMPARE)}
    for what in (FIRST, AGAIN, CHANGED):
        for who in (CEILING, COMPARE, OURS, *(peer.name for peer in peers)):
            some = [each for each in found if (each.who, each.what) == (who, what)]
            if not some:
                continue
            pairs = [(each, bases[each.what, each.round]) for each in some]
            cells = [form.format(median(map(value, some))) for _, value, form in COLUMNS]
            cells.append(f"{len(some)}")
            cells.append(f"{median(one.process / other.process for one, other in pairs):.2f}")
            cells.append(f"{median(one.cpu / other.cpu for one, other in pairs):.2f}")
            void = max(each.sandbox for each in some) > VOID
            yield [what, who, *cells, "void" * void]
