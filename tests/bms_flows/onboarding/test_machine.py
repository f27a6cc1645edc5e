"""Any order of drops, workers, kills, pauses and faults: the invariants hold after every step."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import date
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from bms_flows.onboarding.ledger.decisions import reopen
from bms_flows.onboarding.ledger.entry import EXISTING, OPEN, InvalidTransition, NewRow, State
from bms_flows.onboarding.planning import rules as drop_rules
from bms_flows.onboarding.planning.matching import PlanningView
from bms_flows.onboarding.planning.plan import Action, Plan
from bms_flows.onboarding.planning.planner import make
from bms_flows.onboarding.reading.sheet import FileFormat, Row, Sheet
from bms_flows.onboarding.reporting.receipt import outcome_of
from bms_flows.onboarding.reporting.report import counts
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.sending.apply import Applier
from bms_flows.onboarding.sending.breaker import CreatesPaused
from bms_flows.onboarding.sending.send import CreatesRefused
from bms_flows.onboarding.settings import OnboardingSettings
from bms_warehouse.locks import Busy
from proofs.simulation.actors import Actors
from proofs.simulation.clock import VirtualLoop, now
from proofs.simulation.ledger import IDENTITY, MemoryLedger
from proofs.simulation.process import Killed, Process
from proofs.simulation.service import SimulatedService, person

SETTINGS = OnboardingSettings(settle_s=5, create_timeout_s=20, lease_s=10)
RULES = drop_rules.read(EMPLOYEE)
FATES = (
    "good",
    "good",
    "lost",
    "broken_off",
    "gateway",
    "unavailable",
    "throttled",
    "failed",
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
        self.actors = Actors(Random(1), self.ledger, self.service, range(1, 5))

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
            taken = self.service.snapshot([1], now())
            shown = list(taken.records.values())
            entries = {each.key: each for each in self.ledger.rows.values()}
            records = {each.remote_id: _Record(each.number) for each in shown}
            plan = make(
                Sheet(FileFormat("csv"), tuple(rows), (), "sha"),
                EMPLOYEE,
                IDENTITY,
                RULES,
                PlanningView(entries, {}, shown, records=records),
            )
            self.plans.append(plan)
            self._enter(plan, self.ledger.keep(taken))

        self._play(main)

    def _enter(self, plan: Plan, snapshot: int) -> None:
        entries = {each.key: each for each in self.ledger.rows.values()}
        for row in plan.rows:
            if row.action not in {Action.CREATE, Action.REVIEW} or row.key is None:
                continue
            reason = row.reason if row.action is Action.REVIEW else None
            known = entries.get(row.key)
            if known is None:
                number = self.ledger.add(row.body)
                known = replace(self.ledger.rows[number], state=State.REJECTED)
            elif known.state is State.REVIEW:
                continue
            new = NewRow(
                line=row.line,
                key=row.key,
                digest=row.digest,
                body=row.body,
                manager_key=row.manager_key,
                reason=reason,
                candidates=row.candidates,
            )
            attempts = SETTINGS.create_attempts
            try:
                again = reopen(known, new, now=now(), attempts=attempts, snapshot_id=snapshot)
            except InvalidTransition:
                continue
            self.ledger.rows[known.id] = again.entry
            self.ledger.body[known.id] = dict(row.body)

    @rule()
    def type_in(self) -> None:
        """Let an HR user type a record into the service by hand."""

        async def main() -> None:
            self.actors.type_in()

        self._play(main)

    @rule()
    def decide(self) -> None:
        """Let a reviewer decide on every row in review."""
        self._play(self.actors.decide)

    @rule(fate=st.sampled_from(FATES))
    def become(self, fate: str) -> None:
        """Set the outcome of creates from now on."""
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
                quiet[row] = entry.in_flight_until
            elif what in ("withdrawn", "rejected"):
                quiet[row] = None

    def teardown(self) -> None:
        """Let everything come to its end, and balance the books."""
        if not hasattr(self, "loop"):
            return

        async def main() -> None:
            self.fate = "good"
            await asyncio.gather(*self.tasks)
            for _ in range(40):
                if await _applied(Process(self.ledger, self.service), self.ledger):
                    if not await self.actors.decide():
                        break
                    continue
                await asyncio.sleep(SETTINGS.lease_s)
            else:
                raise AssertionError("stuck")

        try:
            self._play(main)
            self._balance()
        finally:
            self.loop.close()

    def _balance(self) -> None:
        made = Counter(record.who for record in self.service.records if not record.typed)
        records = {record.known.remote_id: record for record in self.service.records}
        entries = {each.key: each for each in self.ledger.rows.values()}
        for entry in entries.values():
            who = int(self.ledger.body[entry.id]["payroll_number"])
            assert entry.state not in OPEN or entry.manager_key is not None
            assert entry.attempt <= entry.max_attempts
            if entry.state in EXISTING:
                assert records[entry.remote_id or ""].who == who
            else:
                assert not made[who]
        for plan in self.plans:
            outcomes = [
                outcome_of(_kept(row), "applied", entries.get(row.key or ""), None)
                for row in plan.rows
            ]
            assert sum(counts(outcomes).values()) == len(plan.rows)
            for outcome in outcomes:
                if outcome.state in ("created", "adopted"):
                    assert outcome.guid in records


async def _applied(process: Process, ledger: MemoryLedger) -> bool:
    """Apply all rows; return whether the worker came to its end."""
    worker = Applier(process, process, SETTINGS, sleep=process.sleep, clock=process.clock)
    try:
        await worker.apply(list(ledger.rows))
    except (Killed, Busy, CreatesPaused, CreatesRefused):
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


class _Record:
    """A detail without differences from the rows."""

    def __init__(self, number: int | None) -> None:
        self.id_employee = number

    def __getattr__(self, name: str) -> Any:
        return None


TestOnboarding = Onboarding.TestCase
TestOnboarding.settings = settings(
    max_examples=60,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
