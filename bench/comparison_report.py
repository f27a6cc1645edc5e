"""Report of a comparison: tables of medians, and ratios within a round."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.support.published import stamp

OURS, CEILING, COMPARE = "bms-airflow", "ceiling", "comparing ceiling"
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


def write(
    into: Path,
    name: str,
    found: Found,
    peers: Sequence[Peer],
    size: Size,
    failed: Mapping[tuple[str, str], str],
) -> str:
    """Write `<name>.md`; return the text."""
    into.mkdir(parents=True, exist_ok=True)
    content = text(found, peers, size, failed, NOTES if name == "comparison" else LINK)
    (into / f"{name}.md").write_text(content)
    return content


def text(
    found: Found,
    peers: Sequence[Peer],
    size: Size,
    failed: Mapping[tuple[str, str], str],
    notes: str,
) -> str:
    """Return everything that was measured as Markdown."""
    loads = [each.load for each in found]
    made = (
        f"{stamp()} {max(each.round for each in found)} round(s), {size.minutes:.0f} minutes; load average at the "
        f"starts {min(loads):.1f} to {max(loads):.1f}."
    )
    if max(loads) > 2 * (os.cpu_count() or 1):
        made += BUSY
    heading = f"# Loads compared with their ceilings and peers, {date.today():%Y-%m-%d}"  # noqa: DTZ011 - a heading
    parts = [heading, made, notes]
    parts += [f"{who}, {work}, failed: {why}" for (who, work), why in failed.items()]
    cases = {
        case: [each for each in found if each.case == case]
        for case in dict.fromkeys(each.case for each in found)
    }
    named = ((f"{size.rows(case):,} {case.name}", some) for case, some in cases.items())
    return "\n\n".join([*parts, table(named, peers)]) + "\n"


BUSY = (
    " **The machine was busy with other work:** seconds are too long, and a ratio of loads that did "
    "not run in the same minute is worth little."
)
NOTES = """\
Ours, the ceilings and dlt (tuned and on Arrow) keep 16 requests in flight; the others send one after another, by design. The ceiling
splits responses into JSON values and COPYs them undecoded, merges once, and does nothing else; the fastest of three variants counts,
and for further loads one that compares. It reads contacts once; ours reads them twice, and assigned contacts once more, for
agreement; peers read them once. Only ours stores versions and raw responses, and quarantines invalid rows; dlt and pandas store
amounts in double precision here. `s` is from the process's start to its exit, bytecode compiled. CPU seconds are of the loading
processes, imports included; memory is VmHWM of the largest process. Rows, sums of ids and amounts, and lengths of names were equal
after every load. Figures are medians, ratios those of seconds to the ceiling of the same round. Where the sandbox used more than
70 % of a core the row is *void*: the sandbox itself was measured."""
LINK = "[What is measured, and how](comparison.md)."
COLUMNS = (
    ("s", lambda each: each.process, "{:.1f}"),
    ("CPU s", lambda each: each.cpu, "{:.1f}"),
    ("PostgreSQL's CPU s", lambda each: each.server_cpu, "{:.1f}"),
    ("WAL MB", lambda each: each.wal / 1e6, "{:.0f}"),
    ("peak MB", lambda each: each.peak / 1e6, "{:.0f}"),
)


def table(cases: Iterable[tuple[str, Found]], peers: Sequence[Peer]) -> str:
    """Return the measures of each case by name: medians, and ratios to the ceiling."""
    heads = ["load", "by", *(name for name, _, _ in COLUMNS), "ratio"]
    lines = [f"| {' | '.join(heads)} |", "| --- | --- |" + " ---: |" * (len(heads) - 2)]
    for name, found in cases:
        lines += [f"| **{name}** |{' |' * (len(heads) - 1)}", *_rows(found, peers)]
    return "\n".join(lines)


def _rows(found: Found, peers: Sequence[Peer]) -> Iterator[str]:
    """Yield the lines of a case; the ceiling of a load without changes is also that of a changed one."""
    bases = {(each.what, each.round): each for each in found if each.who in (CEILING, COMPARE)}
    for what in (FIRST, AGAIN, CHANGED):
        for who in (CEILING, COMPARE, OURS, *(peer.name for peer in peers)):
            some = [each for each in found if (each.who, each.what) == (who, what)]
            if not some or (who, what) == (COMPARE, CHANGED):
                continue
            cells = [form.format(median(map(value, some))) for _, value, form in COLUMNS]
            base = [bases[each.what, each.round].process for each in some]
            ratio = median(one.process / other for one, other in zip(some, base, strict=True))
            cells.append(f"{ratio:.2f}")
            if max(each.sandbox for each in some) > VOID:
                cells[-1] += ", void"
            yield f"| {what} | {who} | {' | '.join(cells)} |"
