"""Report of a comparison: tables and bars of medians, and ratios within a round."""

import os
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.bars import SHADES, Bar, draw
from tests.support.published import stamp
from tests.support.virtual_environment import versions_of

OURS, CEILING, SCAN = "bms-airflow", "ceiling", "ceiling: decode and scan"
FIRST, AGAIN = "first load", "second, nothing changed"
REQUIREMENTS = Path(__file__).parent / "peers" / "requirements"
VOID = 0.7
"""Share of a core above which the sandbox itself was measured."""


class Peer(NamedTuple):
    """An alternative tool: its name, environment, script of `bench/peers`, variant."""

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
    """One load by one of them; `sandbox` in cores, `load` on average of the minute before."""

    work: str
    latency: float
    round: int
    what: str
    who: str
    seconds: float
    cpu: float
    peak: float
    sandbox: float
    load: float


class Size(NamedTuple):
    """How much was loaded, and how many minutes all of it took."""

    days: int
    contacts: int
    minutes: float

    @property
    def works(self) -> dict[str, tuple[str, int]]:
        """Each work as a heading has it, and its rows."""
        return {
            "contacts": (f"{self.contacts:,} contacts", self.contacts),
            "invoices": (f"Invoices: {self.days} days of 1,000", 1000 * self.days),
        }


Found = list[Measure]


def write(
    into: Path,
    name: str,
    found: Found,
    peers: Sequence[Peer],
    size: Size,
    failed: Mapping[tuple[str, str], str],
) -> str:
    """Write `<name>.md` and its bars, light and dark; return the text."""
    into.mkdir(parents=True, exist_ok=True)
    for shade in SHADES:
        (into / f"{name}-{shade}.svg").write_text(draw(panels(found, peers, size), shade))
    content = text(name, found, peers, size, failed)
    (into / f"{name}.md").write_text(content)
    return content


def text(
    name: str,
    found: Found,
    peers: Sequence[Peer],
    size: Size,
    failed: Mapping[tuple[str, str], str],
) -> str:
    """Return everything that was measured as Markdown."""
    versions = ", ".join(
        f"{package} {version}"
        for lock in sorted({peer.lock for peer in peers})
        for package, version in versions_of(lock).items()
    )
    loads = [each.load for each in found]
    made = (
        f"{stamp()} Peers: {versions}. {size.minutes:.0f} minutes; load average at the starts "
        f"{min(loads):.1f} to {max(loads):.1f}."
    )
    if max(loads) > 2 * (os.cpu_count() or 1):
        made += BUSY
    heading = f"# Loads compared with their ceilings and peers, {date.today():%Y-%m-%d}"  # noqa: DTZ011 - a heading
    parts = [heading, made, PLOT.format(name=name), NOTES]
    parts += [f"{who}, {work}, failed: {why}" for (who, work), why in failed.items()]
    for latency in sorted({each.latency for each in found}, reverse=True):
        for work, (title, rows) in size.works.items():
            some = [each for each in found if (each.work, each.latency) == (work, latency)]
            if some:
                parts.append(f"## {title}, {latency * 1000:.0f} ms latency")
                parts += [table(some, what, peers, rows) for what in (FIRST, AGAIN)]
    return "\n\n".join(parts) + "\n"


PLOT = """\
<picture>
  <source media="(prefers-color-scheme: dark)" srcset="{name}-dark.svg">
  <img alt="Seconds of a first load, of its ceiling and of its peers" src="{name}-light.svg">
</picture>"""
BUSY = (
    " **The machine was busy with other work:** seconds are too long, and a ratio of loads that did "
    "not run in the same minute is worth little."
)
NOTES = """\
Ours and the ceilings keep 16 requests in flight, and so do *dlt, tuned* and *dlt, on Arrow*; the others send one request
after another, by design. Ours and the ceiling read contacts twice, and assigned contacts once more, for agreement; peers read them once. A ceiling
fetches, decodes, COPYs and merges, and does nothing else: the fastest of several variants. Only ours stores versions, raw
responses and Parquet files, and quarantines invalid rows; dlt and pandas store amounts in double precision here. Seconds and CPU seconds (of the
loading processes, not of PostgreSQL) are without imports, but with the processes' start for Singer; memory is VmHWM of the largest process.
Rows, sums of ids and amounts, and lengths of names were equal after every load. Ratios are to ours of the same round: median and range.
Where the sandbox used more than 70 % of a core the row is *void*: the sandbox itself was measured."""


def table(found: Found, what: str, peers: Sequence[Peer], rows: int) -> str:
    """Return the measures of one load, ours first."""
    lines = [
        f"| {what} | s | CPU s | rows/s | peak MB | sandbox's CPU | runs | ratio to ours | range |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    ours = {each.round: each.seconds for each in found if (each.who, each.what) == (OURS, what)}
    for who in (CEILING, SCAN, OURS, *(peer.name for peer in peers)):
        some = [each for each in found if (each.who, each.what) == (who, what)]
        if not some:
            continue
        seconds, cpu = median(each.seconds for each in some), median(each.cpu for each in some)
        ratios = [each.seconds / ours[each.round] for each in some]
        busy = max(each.sandbox for each in some)
        spread = (
            f"{min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 and who != OURS else ""
        )
        lines.append(
            f"| {who} | {seconds:.1f} | {cpu:.1f} | {rows / seconds:,.0f} "
            f"| {max(each.peak for each in some) / 1e6:.0f} "
            f"| {busy:.0%}{', void' if busy > VOID else ''} "
            f"| {len(some)} | {median(ratios):.2f} | {spread} |"
        )
    measured = {each.who for each in found if each.what == what}
    spared = [peer.name for peer in peers if peer.name not in measured]
    return "\n".join(lines) + (f"\n\nNot measured: {'; '.join(spared)}." if spared else "")


def panels(found: Found, peers: Sequence[Peer], size: Size) -> list[tuple[str, list[Bar]]]:
    """Return the first loads with the most latency as bars."""
    latency = max(each.latency for each in found)
    drawn = []
    for work, (title, _) in size.works.items():
        bars = []
        for who in (CEILING, OURS, *(peer.name for peer in peers)):
            some = [
                each.seconds
                for each in found
                if (each.work, each.latency, each.what, each.who) == (work, latency, FIRST, who)
            ]
            if some:
                kind = {CEILING: "ceiling", OURS: "ours"}.get(who, "peer")
                bars.append(Bar(who, median(some), kind))
        drawn.append((f"{title}: first load, {latency * 1000:.0f} ms a request", bars))
    return drawn
