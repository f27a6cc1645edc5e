"""Any order of drops, workers, deaths, pauses and faults: the laws hold after every step."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bench.simulation.clock import VirtualLoop, now
from bench.simulation.ledger import IDENTITY, MemoryLedger
from bench.simulation.process import Killed, Process
from bench.simulation.service import SimulatedService, person
from bms.errors import ConnectionFailed
from bms_flows.creation import rules as drop_rules
from bms_flows.creation.apply import Applier, RowsHeld
from bms_flows.creation.employees import EMPLOYEE
from bms_flows.creation.entry import HERE, OPEN, Entry, Unlawful
from bms_flows.creation.plan import Action, Plan
from bms_flows.creation.planner import make
from bms_flows.creation.receipt import outcome_of
from bms_flows.creation.send import CreatesRefused
from bms_flows.creation.settings import Settings
from bms_flows.creation.states import reopen
from bms_flows.creation.view import View
from bms_flows.drops.outcome import counts
from bms_flows.drops.sheet import Form, Row, Sheet

SETTINGS = Settings(settle_s=5, create_timeout_s=20, lease_s=10)
RULES = drop_rules.read(EMPLOYEE)
FATES = (
    "good",
    "good",
    "lost",
    "broken_off",
    "gateway",
    "unavailable",
    "refused",
    "forbidden",
    "no_connection",
    "slow",
)


class Onboarding(RuleBasedStateMachine):
    """Plan and apply, as tasks would call them, in virtual time."""

    @initialize(lag=st.sampled_from([0, 1, 4.5]), latency=st.sampled_from([0.05, 3.0]))
    def start(self, lag: float, latency: float) -> None:
        self.loop = VirtualLoop()
        self.fate = "good"
        self.ledger = MemoryLedger()
        self.service = SimulatedService(
            lambda: self.fate, lag=lambda: lag, latency=latency, behind_gateway_s=9
        )
        self.tasks: list[asyncio.Task[Any]] = []
        self.plans: list[Plan] = []

    def _play(self, main: Callable[[], Awaitable[Any]]) -> Any:
        return self.loop.run_until_complete(main())

    @rule(
        people=st.lists(st.integers(1, 4), min_size=1, max_size=4),
        other=st.booleans(),
        manager=st.booleans(),
    )
    def drop(self, people: list[int], other: bool, manager: bool) -> None:
        """Plan a file, and enter what is new of it."""
        given = {"job_title": "Autre"} if other else {}
        rows = [
            Row(
                line,
                person(n, start_date=date(2026, 2, 1), **given)
                | (
                    {"manager_payroll_number": f"{n - 1:06}"} if manager and n - 1 in people else {}
                ),
                (),
            )
            for line, n in enumerate(people, 2)
        ]

        async def main() -> None:
            shown = await self.service.shown([1])
            entries = {each.key: each for each in self.ledger.rows.values()}
            plan = make(
                Sheet(Form("csv"), tuple(rows), (), "sha"),
                EMPLOYEE,
                IDENTITY,
                RULES,
                View(entries, {}, shown),
            )
            self.plans.append(plan)
            self._enter(plan)

        self._play(main)

    def _enter(self, plan: Plan) -> None:
        entries = {each.key: each for each in self.ledger.rows.values()}
        for row in plan.rows:
            if row.action is not Action.CREATE or row.key is None:
                continue
            known = entries.get(row.key)
            if known is None:
                number = self.ledger.add(row.body, manager=row.manager_key)
                entered = self.ledger.rows[number]
                self.ledger.rows[number] = Entry(
                    id=number,
                    key=entered.key,
                    digest=row.digest,
                    limit=SETTINGS.create_attempts,
                    manager_key=row.manager_key,
                )
                continue
            try:
                again = reopen(
                    known, now=now(), digest=row.digest, manager_key=row.manager_key, attempts=5
                )
            except Unlawful:
                continue
            self.ledger.rows[known.id] = again.entry
            self.ledger.body[known.id] = dict(row.body)

    @rule(fate=st.sampled_from(FATES))
    def become(self, fate: str) -> None:
        """From now on this is what becomes of creates."""
        self.fate = fate

    @rule(
        kill_at=st.none() | st.integers(1, 30),
        stop_at=st.none() | st.integers(1, 30),
        stop_for=st.floats(0, 100),
        clock_stops=st.booleans(),
    )
    def work(
        self, kill_at: int | None, stop_at: int | None, stop_for: float, clock_stops: bool
    ) -> None:
        """Start another worker on everything there is."""

        async def main() -> None:
            process = Process(
                self.ledger,
                self.service,
                kill_at=kill_at,
                stop_at=stop_at,
                stop_for=stop_for,
                clock_stops=clock_stops,
            )
            task = asyncio.get_running_loop().create_task(_applied(process, self.ledger))
            self.tasks.append(task)
            await asyncio.sleep(0)

        self._play(main)

    @rule(seconds=st.sampled_from([0.1, 2, 11, 60]))
    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._play(lambda: asyncio.sleep(seconds))

    @invariant()
    def nobody_is_there_twice(self) -> None:
        if hasattr(self, "service"):
            assert not self.service.doubles()

    @invariant()
    def every_repeat_was_settled(self) -> None:
        quiet: dict[int, Any] = {}
        for at, row, what, entry in getattr(self, "ledger", MemoryLedger()).history:
            if what == "intended" and quiet.get(row) is not None:
                assert at >= quiet[row] + 2 * SETTINGS.settle
            if what in ("unknown", "abandoned"):
                quiet[row] = entry.quiet_at
            elif what in ("withdrawn", "rejected"):
                quiet[row] = None

    def teardown(self) -> None:
        """Let everything come to its end, and balance the books."""
        if not hasattr(self, "loop"):
            return

        async def main() -> None:
            self.fate = "good"
            await asyncio.gather(*self.tasks)
            for _ in range(20):
                if await _applied(Process(self.ledger, self.service), self.ledger):
                    break
                await asyncio.sleep(SETTINGS.lease_s)
            else:
                raise AssertionError("stuck")

        try:
            self._play(main)
            self._balance()
        finally:
            self.loop.close()

    def _balance(self) -> None:
        made = Counter(record.known.key for record in self.service.records)
        entries = {each.key: each for each in self.ledger.rows.values()}
        for entry in entries.values():
            assert entry.state not in OPEN or entry.manager_key is not None
            assert made[entry.key] == (1 if entry.state in HERE else 0)
            assert entry.attempt <= entry.limit
        assert set(made) <= set(entries)
        for plan in self.plans:
            outcomes = [
                outcome_of(_kept(row), "applied", entries.get(row.key or ""), None)
                for row in plan.rows
            ]
            assert sum(counts(outcomes).values()) == len(plan.rows)
            for row, outcome in zip(plan.rows, outcomes, strict=True):
                if outcome.state in ("created", "adopted"):
                    assert made[row.key] == 1


async def _applied(process: Process, ledger: MemoryLedger) -> bool:
    """Apply all rows; return whether the worker came to its end."""
    worker = Applier(process, process, SETTINGS, sleep=process.sleep, ticks=process.ticks)
    try:
        await worker.apply(list(ledger.rows))
    except (Killed, RowsHeld, ConnectionFailed, CreatesRefused):
        return False
    return True


def _kept(row: Any) -> dict[str, Any]:
    return {
        "line": row.line,
        "action": row.action,
        "reason": row.reason,
        "digest": row.digest,
        "faults": [],
        "candidates": list(row.candidates),
        "remote_id": row.known.remote_id if row.known else None,
        "remote_number": None,
        "is_standby": None,
    }


TestOnboarding = Onboarding.TestCase
TestOnboarding.settings = settings(
    max_examples=60,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
