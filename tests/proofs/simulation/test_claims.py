"""Claims in memory equal those in PostgreSQL for random sequences of calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any, Protocol

import pytest
from sqlalchemy import Engine, text

from bms_flows.onboarding.inbox import claim, closing
from bms_flows.onboarding.inbox.claim import Drop, Ending
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_warehouse.locks import Busy, LeaseLost
from proofs.simulation.claims import MemoryClaims

FILES = [FoundFile("a.csv", 3, "1"), FoundFile("a.csv", 3, "2"), FoundFile("b.csv", 3, "1")]


class Claims(Protocol):
    """What both offer."""

    def enter(self, resource: str, seen: FoundFile, dag_run_id: str) -> Drop: ...
    def reopen(self, number: int, dag_run_id: str) -> Drop: ...
    def record(self, held: Drop, *, sha256: str, archive: str) -> Drop | None: ...
    def finish(self, held: Drop, ending: Ending, *, counts: Mapping[str, int]) -> None: ...
    def wait(self, span: timedelta) -> None: ...


@dataclass
class RealClaims:
    """Those of a warehouse."""

    warehouse: Engine

    def enter(self, resource: str, seen: FoundFile, dag_run_id: str) -> Drop:
        return claim.claim_file(self.warehouse, resource, seen, dag_run_id)

    def reopen(self, number: int, dag_run_id: str) -> Drop:
        return claim.reopen(self.warehouse, number, dag_run_id)

    def record(self, held: Drop, *, sha256: str, archive: str) -> Drop | None:
        return closing.record_content(self.warehouse, held, sha256=sha256, archive=archive)

    def finish(self, held: Drop, ending: Ending, *, counts: Mapping[str, int]) -> None:
        with self.warehouse.begin() as connection:
            closing.finish(connection, held, ending, counts=counts)

    def wait(self, span: timedelta) -> None:
        with self.warehouse.begin() as connection:
            older = text("update bms.dropped_file set expires_at = expires_at - :span")
            connection.execute(older, {"span": span})


@dataclass
class Story:
    """One order of questions, asked of one kind of claims; each numbers its drops in its own way."""

    claims: Claims
    held: dict[tuple[int, str], Drop] = field(default_factory=dict)

    def play(self, random: Random) -> list[object]:
        return [self._answered(random) for _ in range(80)]

    def _answered(self, random: Random) -> object:
        file, run = random.randrange(len(FILES)), random.choice("xy")
        kind, sha256 = random.randrange(5), random.choice("ab") * 64
        ending: Ending = random.choice(("applied", "repeated"))
        counts = {"created": 1, "adopted": 0, "already_there": 1, "rejected": random.randrange(2)}
        run_id = f"run-{run}-of-{file}"
        if kind == 0 or (file, run) not in self.held:
            return self._kept(file, run, self.claims.enter, "employee", FILES[file], run_id)
        mine = self.held[file, run]
        match kind:
            case 1:
                return self._kept(file, run, self.claims.reopen, mine.id, run_id)
            case 2:
                return _told(self.claims.record, mine, sha256=sha256, archive="x")
            case 3:
                return _told(self.claims.finish, mine, ending, counts=counts)
        self.claims.wait(2 * claim.LIFE)
        return None

    def _kept(self, file: int, run: str, ask: Callable[..., Drop], *given: Any) -> object:
        def asked() -> Drop:
            self.held[file, run] = ask(*given)
            return self.held[file, run]

        return _told(asked)


def _told(ask: Callable[..., Drop | None], *given: Any, **named: Any) -> object:
    try:
        drop = ask(*given, **named)
    except (LeaseLost, Busy) as refused:
        return type(refused)
    return drop and (drop.seen, drop.state, drop.dag_run_id, drop.sha256)


@pytest.mark.parametrize("seed", range(5))
def test_both_services_give_equal_responses(seed: int, warehouse: Engine) -> None:
    there = Story(RealClaims(warehouse)).play(Random(seed))
    here = Story(MemoryClaims()).play(Random(seed))
    assert here == there
    assert {LeaseLost, Busy} <= {each for each in here if isinstance(each, type)}
