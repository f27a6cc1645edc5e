"""Simulation of the engines in virtual time, each run from one seed, with laws that must hold.

    python -m proofs.simulate --seeds 50000                  # divided among the engines
    python -m proofs.simulate --engine drops --seed 17       # replay one run with its story

Nothing waits and nothing is sent: clock, sleep, random numbers and transport are simulated.
Exits with 1 if a law broke, and prints the command that replays the run.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proofs.page import command, table
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
"""Of the seeds, of the engines that play: those on real folders are slower."""


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


def main(
    *,
    seeds: int = 4_000,
    first: int = 0,
    engine: Sequence[str] = tuple(ENGINES),
    seed: int = -1,
) -> bool:
    """Play many seeds from `first` on, or `seed` again with its story; return whether all laws held."""
    if seed >= 0:
        return all(replay(each, seed) for each in engine)
    whole = sum(SHARES[each] for each in engine)
    results = [
        play(each, range(first, first + round(SHARES[each] / whole * seeds))) for each in engine
    ]
    print(report(results))
    for each in results:
        for number, laws in each.broken.items():
            replayed = f"python -m proofs.simulate --engine {each.engine} --seed {number}"
            print(f"{'; '.join(laws)}: {replayed}")
    return not any(each.broken for each in results)


if __name__ == "__main__":
    command(main)
