"""Measures as tables and bars: medians, and the ratios within a round."""

import os
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.bars import Bar, write
from bench.peers.environment import versions_of
from bench.stand import machine

RESULTS = Path(__file__).parent / "results"
PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
OURS, CEILING, SCAN = "bms-airflow", "ceiling", "ceiling: decode and scan"
FIRST, AGAIN = "first load", "second, nothing changed"
VOID = 0.7
"""Share of a core: a sandbox that worked more was itself what was measured."""


class Peer(NamedTuple):
    """What else could do the work: its name, environment, script of `bench/peers`, variant."""

    name: str
    environment: str
    script: str
    variant: str
    slow: bool = False


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


Found = list[Measure]


def text(
    found: Found, peers: Sequence[Peer], size: Size, failed: Mapping[tuple[str, str], str]
) -> str:
    """Return everything that was measured as Markdown."""
    versions = ", ".join(
        f"{package} {version}"
        for environment in sorted({peer.environment for peer in peers})
        for package, version in versions_of(environment).items()
    )
    loads = [each.load for each in found]
    made = (
        f"{machine()}. Peers: {versions}. {size.minutes:.0f} minutes; load average at the starts "
        f"{min(loads):.1f} to {max(loads):.1f}."
    )
    works = {
        "contacts": (f"{size.contacts:,} contacts", size.contacts),
        "invoices": (f"Invoices: {size.days} days of 1,000", 1000 * size.days),
    }
    if max(loads) > 2 * (os.cpu_count() or 1):
        made += BUSY
    heading = f"# Loads beside their ceilings and peers, {date.today():%Y-%m-%d}"  # noqa: DTZ011 - a heading
    parts = [heading, made, NOTES]
    parts += [f"{who}, {work}, failed: {why}" for (who, work), why in failed.items()]
    for latency in sorted({each.latency for each in found}, reverse=True):
        for work, (told, rows) in works.items():
            some = [each for each in found if (each.work, each.latency) == (work, latency)]
            if some:
                parts.append(f"## {told}, {latency * 1000:.0f} ms latency")
                parts += [table(some, what, peers, rows) for what in (FIRST, AGAIN)]
    return "\n\n".join(parts) + "\n"


BUSY = (
    " **The machine was busy with other work:** seconds are too long, and a ratio of loads that did "
    "not run in the same minute is worth little."
)
NOTES = """\
Ours and the ceilings keep 16 requests in flight, and so do *dlt, tuned* and *dlt, on Arrow*; the others ask one request
after another, as they are made. Ours and the ceiling read contacts twice, and those assigned once more, for agreement; peers read them once. A ceiling
fetches, decodes, COPYs and merges, and does nothing else: the fastest of three variants. Only ours keeps versions, raw
answers, Parquet files and exact amounts, and quarantines what it can't believe. Seconds and CPU seconds (of the
loading processes, not of PostgreSQL) are without imports, but with the processes' start for Singer; memory is VmHWM of the biggest process.
Rows, sums of ids and amounts, and lengths of names were the same after every load. Ratios are to ours of the same round: median and range;
slow peers ran once, and no second load where the first took more than 40 s. Where the sandbox used
more than 70 % of a core the row is *void*: the sandbox itself was measured."""


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


def picture(found: Found, peers: Sequence[Peer]) -> None:
    """Draw the first loads with latency."""
    latency = max(each.latency for each in found)
    panels = []
    for work in ("contacts", "invoices"):
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
        panels.append((f"{work}: first load, {latency * 1000:.0f} ms a request", bars))
    write(panels, PICTURES, "speed")
