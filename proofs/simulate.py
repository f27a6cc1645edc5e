"""Simulation of the engines in virtual time, each run from one seed, with laws that must hold.

    python -m proofs.simulate --seeds 50000                  # divided among the engines
    python -m proofs.simulate --engine drops --seed 17       # replay one run with its story

Nothing waits and nothing is sent: clock, sleep, random numbers and transport are simulated.
Exits with 1 if a law broke, and prints the command that replays the run.
"""

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proofs.page import table
from proofs.simulation import audits, creation, drops, mirror, windows
from proofs.simulation.recorder import Engine, Recorder

ENGINES: Final[dict[str, Engine]] = {
    "creation": creation.broken,
    "mirror": mirror.broken,
    "drops": drops.broken,
    "windows": windows.broken,
    "audits": audits.broken,
}
SHARES: Final = {"creation": 0.4, "mirror": 0.25, "drops": 0.1, "windows": 0.2, "audits": 0.05}
"""Of the seeds, when all engines play: those on real folders are slower."""


@dataclass
class Played:
    """Results of many seeds of one engine; seconds are CPU seconds."""

    engine: str
    seeds: int
    seconds: float
    recorder: Recorder
    broken: dict[int, list[str]]


def play(engine: str, seeds: Sequence[int]) -> Played:
    """Play `seeds` of an engine, to the end whatever breaks."""
    recorder, broken = Recorder(), {}
    started = time.process_time()
    for seed in seeds:
        if found := ENGINES[engine](seed, recorder):
            broken[seed] = found
    return Played(engine, len(seeds), time.process_time() - started, recorder, broken)


def replay(engine: str, seed: int) -> bool:
    """Play one run and print its story; return whether all laws held."""
    recorder = Recorder(story=[])
    broken = ENGINES[engine](seed, recorder)
    print(*(recorder.story or ()), sep="\n")
    print(f"{engine}, seed {seed}: {'; '.join(broken) or 'every law held'}")
    return not broken


def report(results: Sequence[Played]) -> str:
    """Return what was played as a Markdown table."""
    head = ("engine", "observed", "seeds", "laws broken", "seeds per second and core")
    return table(head, (
        (
            each.engine,
            ", ".join(f"{n:,} {what}" for what, n in sorted(each.recorder.counts.items())),
            f"{each.seeds:,}", len(each.broken), f"{each.seeds / max(each.seconds, 1e-9):,.0f}",
        )
        for each in results
    ), texts=2)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Play many seeds, or one again."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=4_000, help="how many, over all engines")
    options.add_argument("--seed", type=int, help="replay this seed with its story")
    options.add_argument("--first", type=int, default=0, help="the first of the seeds")
    options.add_argument("--engine", choices=ENGINES, help="this one alone")
    given = options.parse_args(argv)
    if given.seed is not None:
        if given.engine is None:
            options.error("--seed takes --engine: each has a run of that seed")
        return 0 if replay(given.engine, given.seed) else 1
    shares = {given.engine: 1.0} if given.engine else SHARES
    results = [
        play(engine, range(given.first, given.first + round(share * given.seeds)))
        for engine, share in shares.items()
    ]
    print(report(results))
    for each in results:
        for seed, laws in each.broken.items():
            print(
                f"{'; '.join(laws)}: python -m proofs.simulate --engine {each.engine} --seed {seed}"
            )
    return 1 if any(each.broken for each in results) else 0


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # simulated faults need no log
    sys.exit(main())
