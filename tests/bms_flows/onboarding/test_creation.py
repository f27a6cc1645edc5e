"""Approval of plans, changes after it, review decisions, and the receipt, on sandbox and PostgreSQL."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine, text

from bms_flows.onboarding.creation import MAX_CHUNKS, Creation, Proposal
from bms_flows.onboarding.ledger import store, transitions
from bms_flows.onboarding.ledger.entry import State
from bms_flows.onboarding.ledger.store import delete_bodies
from bms_flows.onboarding.planning.approval import SETTING, NotApproved, Plans
from bms_flows.onboarding.planning.plan import ApprovalReason
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.receipt import make_receipt
from bms_flows.onboarding.reporting.review import InvalidDecision, ReviewDecision, decide_review
from bms_flows.onboarding.resources.snapshot import ServiceLists
from bms_sandbox.serve import Sandbox
from bms_warehouse.locks import Busy
from bms_warehouse.queries import waiting
from tests.bms_flows.onboarding.conftest import Drop, csv
from tests.bms_flows.onboarding.onboarding import Run, creation_of, entered, onboard
from tests.support.days import today
from tests.support.sql import execute, fetch, scalar, scalars

TWO = csv("900001;Lefèvre;Aurélie;2026-05-15;", "900002;Martin;Paul;2026-05-15;900001")


async def receipt(creation: Creation, sheet: Sheet, plan_id: str) -> Any:
    return await make_receipt(creation.snapshots(sheet), plan_id)


async def decide(creation: Creation, rows: Sequence[int], decision: ReviewDecision) -> list[int]:
    return await decide_review(creation.ledger, creation.remote, rows, decision)


async def applied(creation: Creation, sheet: Sheet, plan_id: str) -> str:
    begun = await entered(creation, sheet, plan_id)
    for number in range(begun.chunks):
        await creation.apply(begun.plan_id, number)
    return begun.plan_id


def hired(
    sandbox: Sandbox, number: str = "900001", last: str = "Lefèvre", first: str = "Aurélie"
) -> dict[str, Any]:
    """Insert the record of a row, by default the first of `TWO`."""
    known = {"payroll_number": number, "last_name": last, "first_name": first}
    return sandbox.insert("employees", id_entity=1, start_date="2026-05-15", **known)


Open = Callable[..., AbstractAsyncContextManager[tuple[Creation, Sheet]]]
REVIEWED: dict[str, Any] = {"create_attempts": 1, "settle_s": 0.01}


@pytest.fixture
def opened(warehouse: Engine, drop: Drop) -> Open:
    """Drop a file, by default `TWO`, and work on it."""
    return lambda content=TWO, **settings: creation_of(drop(content), warehouse, **settings)


def say(creation: Creation, answer: str, plan_id: str, who: str = "ada") -> None:
    """Answer as an approver: `approve` or `refuse`."""
    getattr(creation.plans, answer)(plan_id, who)


async def test_nothing_is_sent_before_approval(sandbox: Sandbox, opened: Open) -> None:
    async with opened(approval="always") as (creation, sheet):
        asked = await creation.plan(sheet)
        assert asked.decision.ask
        assert "Lefèvre" not in asked.text()
        with pytest.raises(NotApproved):
            await creation.enter(asked.plan.id, sheet)
        say(creation, "refuse", asked.plan.id)
        outcomes, _ = await receipt(creation, sheet, asked.plan.id)
        assert [outcome.state for outcome in outcomes] == ["waiting", "waiting"]
        assert sandbox.truth()["created"]["employees"] == []
        say(creation, "approve", asked.plan.id)
        await applied(creation, sheet, asked.plan.id)
        assert len(sandbox.truth()["created"]["employees"]) == 2


async def test_a_larger_plan_requires_another_approval_with_the_difference(
    sandbox: Sandbox, opened: Open
) -> None:
    there = hired(sandbox)
    async with opened(approval="always") as (creation, sheet):
        planned = await creation.plan(sheet)
        assert planned.plan.counts["create"] == 1
        say(creation, "approve", planned.plan.id)
        sandbox.delete("employees", there["guid_employee"])
        # The setting changed; the approval of the approver still decides.
        now = replace(creation, settings=replace(creation.settings, approval="never"))
        again = await now.enter(planned.plan.id, sheet)
        assert isinstance(again, Proposal)
        assert again.decision.reasons == (
            ApprovalReason("more_rows", "1"),
            ApprovalReason("other_data", "1"),
        )
        assert sandbox.truth()["created"]["employees"] == []


@pytest.mark.parametrize(("approval", "asked"), [("never", False), (2, False), (1, True)])
async def test_a_plan_that_needs_no_approval_continues_while_the_setting_allows_it(
    sandbox: Sandbox, approval: Any, asked: bool, opened: Open
) -> None:
    there = hired(sandbox)
    async with opened(approval=approval) as (creation, sheet):
        planned = await creation.plan(sheet)
        sandbox.delete("employees", there["guid_employee"])
        again = await creation.enter(planned.plan.id, sheet)
        assert isinstance(again, Proposal) is asked


def newcomers(first: int, rows: int) -> bytes:
    """A file of employees without records."""
    return csv(*(f"{n};Lefèvre{n};Aurélie;2026-05-15;" for n in range(first, first + rows)))


async def asked(run: Run, warehouse: Engine, **settings: Any) -> Proposal:
    async with creation_of(run, warehouse, **settings) as (creation, sheet):
        return await replace(creation, today=today()).plan(sheet)


async def test_many_small_files_need_approval_as_one_large_file_does(
    warehouse: Engine, drop: Drop
) -> None:
    runs = [drop(newcomers(900000 + 10 * n, 10)) for n in range(3)]
    plans = [await asked(run, warehouse, approval=20) for run in runs]
    assert [each.decision.ask for each in plans] == [False, False, True]
    assert plans[2].decision.reasons == (ApprovalReason("rows_of_day", "10 + 20", "20"),)
    again = await asked(runs[1], warehouse, approval=20)
    assert not again.decision.ask, "the rows of a drop count once"
    async with creation_of(runs[2], warehouse) as (creation, _):
        Plans(creation.warehouse, runs[2].drop_id).approve(plans[2].plan.id, "ada")
    more = await asked(drop(newcomers(990000, 1)), warehouse, approval=21)
    assert not more.decision.ask, "approved rows don't count"


async def test_a_dry_run_and_rows_created_without_approval_yesterday_do_not_count(
    warehouse: Engine, drop: Drop
) -> None:
    async with creation_of(drop(newcomers(920000, 20)), warehouse, approval=20) as (made, sheet):
        await replace(made, today=today()).plan(sheet, dry_run=True)
    assert not (await asked(drop(newcomers(900000, 20)), warehouse, approval=20)).decision.ask
    execute(warehouse, "update bms.creation_plan set decided_at = decided_at - interval '1 day'")
    assert not (await asked(drop(newcomers(910000, 20)), warehouse, approval=20)).decision.ask


async def test_two_concurrent_plans_share_the_daily_limit(warehouse: Engine, drop: Drop) -> None:
    runs = [drop(newcomers(900000 + 100 * n, 15)) for n in range(4)]
    plans = await asyncio.gather(*(asked(run, warehouse, approval=20) for run in runs))
    assert sorted(each.decision.ask for each in plans) == [False, True, True, True]


async def test_an_unapproved_plan_approves_no_smaller_plan(sandbox: Sandbox, opened: Open) -> None:
    """One of the two was hired in between: the smaller plan is not approved either."""
    async with opened(approval="always") as (creation, sheet):
        planned = await creation.plan(sheet)
        say(creation, "refuse", planned.plan.id)
        hired(sandbox)
        with pytest.raises(NotApproved, match="is refused, not approved"):
            await creation.enter(planned.plan.id, sheet)
    assert sandbox.truth()["created"]["employees"] == []


async def test_a_smaller_plan_continues_without_another_approval(
    sandbox: Sandbox, opened: Open
) -> None:
    async with opened(
        csv("900001;Lefèvre;Aurélie;2026-05-15;", "900002;Martin;Paul;2026-05-15;")
    ) as (creation, sheet):
        planned = await creation.plan(sheet)
        hired(sandbox, "900002", "Martin", "Paul")
        plan_id = await applied(creation, sheet, planned.plan.id)
        assert plan_id != planned.plan.id
        outcomes, _ = await receipt(creation, sheet, plan_id)
        assert [outcome.state for outcome in outcomes] == ["created", "already_there"]


def said_of(creation: Creation, plan_id: str) -> tuple[str, str | None]:
    plan = creation.plans.load(plan_id)
    assert (plan.decided_by is None) is (plan.decided_at is None)
    return plan.state, plan.decided_by


def waits(engine: Engine) -> list[int]:
    """The plans that the board shows as waiting for approval: how many each would create."""
    with engine.connect() as connection:
        return [each["counts"]["create"] for each in waiting.plans(connection, ["employee"])]


@pytest.mark.parametrize("said", ["approve", "refuse"])
async def test_a_plan_submitted_again_waits_again_for_approval(
    said: str, warehouse: Engine, opened: Open
) -> None:
    async with opened(approval="always") as (creation, sheet):
        plan_id = (await creation.plan(sheet)).plan.id
        say(creation, said, plan_id)
        before = said_of(creation, plan_id)
        await creation.plan(sheet, dry_run=True)
        assert said_of(creation, plan_id) == before
        assert waits(warehouse) == []
        again = await creation.plan(sheet)
        assert again.plan.id == plan_id
        assert said_of(creation, plan_id) == ("made", None)
        assert waits(warehouse) == [2]
        say(creation, "refuse", plan_id, "bob")
        assert said_of(creation, plan_id) == ("refused", "bob")


async def test_a_rejection_after_an_approval_counts_until_the_plan_is_entered(opened: Open) -> None:
    """The approval's task was cleared; the plan is unchanged."""
    async with opened(approval="always") as (creation, sheet):
        plan_id = (await creation.plan(sheet)).plan.id
        say(creation, "approve", plan_id)
        say(creation, "refuse", plan_id, "bob")
        assert said_of(creation, plan_id) == ("refused", "bob")
        say(creation, "approve", plan_id)
        await applied(creation, sheet, plan_id)
        say(creation, "refuse", plan_id, "bob")
        assert said_of(creation, plan_id) == ("applied", "ada")


async def test_the_board_shows_the_plan_awaiting_approval_not_the_latest_plan(
    warehouse: Engine, sandbox: Sandbox, opened: Open
) -> None:
    async with opened(approval="always") as (creation, sheet):
        first = await creation.plan(sheet, dry_run=True)
        there = hired(sandbox)
        second = await creation.plan(sheet)
        say(creation, "refuse", second.plan.id)
        sandbox.delete("employees", there["guid_employee"])
        third = await creation.plan(sheet)
        assert third.plan.id == first.plan.id
        assert waits(warehouse) == [2]


async def test_a_rejected_plan_waits_again_after_another_plan_replaced_it(
    warehouse: Engine, sandbox: Sandbox, opened: Open
) -> None:
    async with opened(approval="always") as (creation, sheet):
        larger = await creation.plan(sheet)
        say(creation, "refuse", larger.plan.id)
        there = hired(sandbox)
        smaller = await creation.plan(sheet)
        say(creation, "approve", smaller.plan.id)
        sandbox.delete("employees", there["guid_employee"])
        asked = await creation.enter(smaller.plan.id, sheet)
        assert isinstance(asked, Proposal)
        assert asked.plan.id == larger.plan.id
        assert waits(warehouse) == [2]


class StandsStill:
    """A remote that waits before its list until the test releases it."""

    def __init__(self, remote: Any) -> None:
        self._remote = remote
        self.stands, self.goes_on = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._remote, name)

    async def _once_released(self, found: Awaitable[ServiceLists]) -> ServiceLists:
        self.stands.set()
        await self.goes_on.wait()
        return await found

    async def read_all(self, scopes: Iterable[Any], at: datetime) -> ServiceLists:
        """Wait, then read the lists."""
        return await self._once_released(self._remote.read_all(scopes, at))

    async def refresh(self, *given: Any) -> ServiceLists:
        """Wait, then read what is new."""
        return await self._once_released(self._remote.refresh(*given))


async def test_a_delayed_planning_step_withdraws_no_approval(opened: Open) -> None:
    async with opened(approval="always") as (creation, sheet):
        still: Any = StandsStill(creation.remote)
        late = asyncio.create_task(replace(creation, remote=still).plan(sheet))
        await still.stands.wait()
        plan_id = (await creation.plan(sheet)).plan.id
        say(creation, "approve", plan_id)
        still.goes_on.set()
        assert (await late).plan.id == plan_id
        assert said_of(creation, plan_id) == ("approved", "ada")


async def test_a_plan_whose_approval_is_withdrawn_during_the_check_is_not_entered(
    warehouse: Engine, opened: Open
) -> None:
    async with opened(approval="always") as (creation, sheet):
        plan_id = (await creation.plan(sheet)).plan.id
        say(creation, "approve", plan_id)
        still: Any = StandsStill(creation.remote)
        slow = replace(creation, remote=still)
        late = asyncio.create_task(slow.enter(plan_id, sheet))
        await still.stands.wait()
        await creation.plan(sheet)
        still.goes_on.set()
        with pytest.raises(NotApproved, match="was withdrawn"):
            await late
        assert said_of(creation, plan_id) == ("made", None)
        assert scalar(warehouse, "select count(*) from bms.creation") == 0


async def test_the_number_of_chunks_does_not_grow_with_the_drop(opened: Open) -> None:
    rows = (f"{900000 + n};Lefèvre{n};Aurélie;2026-05-15;" for n in range(41))
    async with opened(csv(*rows), approval="never", chunk_rows=1) as (creation, sheet):
        begun = await entered(creation, sheet)
        assert MAX_CHUNKS // 2 <= begun.chunks <= MAX_CHUNKS
        cut = await creation.chunks(begun.plan_id)
        assert (len(cut), sum(map(len, cut))) == (begun.chunks, 41)
        assert await creation.apply(begun.plan_id, begun.chunks) == {}


Decide = Callable[[Creation, int, Any], Awaitable[Any]]


async def in_review(creation: Creation, sheet: Sheet, sandbox: Sandbox) -> tuple[str, list[int]]:
    """Bring the first of two rows to review: five POSTs, and no record."""
    sandbox.set_fault("reset_after_read", "create_employee")
    planned = await creation.plan(sheet)
    plan_id = await applied(creation, sheet, planned.plan.id)
    sandbox.clear_faults()
    [rows] = await creation.chunks(plan_id)
    states = [each.state for each in await creation.ledger.entries(rows)]
    assert states == [State.REVIEW, State.READY]
    return plan_id, list(rows)


@pytest.mark.parametrize("choice", ["create", "give_up", "candidate"])
async def test_a_reviewer_decides_once_and_is_recorded(
    choice: str, warehouse: Engine, sandbox: Sandbox, opened: Open
) -> None:
    async with opened(**REVIEWED) as (creation, sheet):
        plan_id, [row, follower] = await in_review(creation, sheet, sandbox)
        given = choice
        if choice == "candidate":
            given = hired(sandbox)["guid_employee"]
        decision = ReviewDecision(given, "ada", "manual__1")
        again = await decide(creation, [row], decision)
        assert follower in again
        # A try that was killed before sending finds its own decision only.
        assert await decide(creation, [row], decision) == again
        with pytest.raises(InvalidDecision):
            await decide(creation, [row], ReviewDecision(given, "bob", "manual__2"))
        await creation.applier().apply([row, follower])
        outcomes, _ = await receipt(creation, sheet, plan_id)
    decided = fetch(
        warehouse, "select who, what from bms.creation_event where what like 'decided%'"
    )
    assert [who for who, _ in decided] == ["ada"]
    assert [outcome.state for outcome in outcomes] == {
        "create": ["created", "created"],
        "give_up": ["rejected", "rejected"],
        "candidate": ["adopted", "created"],
    }[choice]


async def test_a_mistyped_id_does_not_bind_a_row_to_another_person(
    sandbox: Sandbox, opened: Open
) -> None:
    async with opened(**REVIEWED) as (creation, sheet):
        _, [row, _] = await in_review(creation, sheet, sandbox)
        for absent in ("no guid", "00000000-0000-4000-8000-000000000000"):
            with pytest.raises(InvalidDecision):
                await decide(creation, [row], ReviewDecision(absent, "ada", "manual__1"))
        other = sandbox.insert("employees", id_entity=1, payroll_number="1", last_name="Autre")
        with pytest.raises(InvalidDecision, match="payroll_number") as refused:
            await decide(
                creation, [row], ReviewDecision(other["guid_employee"], "ada", "manual__1")
            )
        assert not [cell for cell in ("Autre", "Lefèvre", "900001") if cell in str(refused.value)]
        [entry] = await creation.ledger.entries([row])
        assert entry.state is State.REVIEW
        same = sandbox.insert("employees", id_entity=2, last_name="LEFÈVRE", first_name="Aurélie")
        await decide(creation, [row], ReviewDecision(same["guid_employee"], "ada", "manual__2"))
        [entry] = await creation.ledger.entries([row])
        assert entry.remote_id == same["guid_employee"]


async def test_a_listed_candidate_may_be_chosen_whatever_differs(
    sandbox: Sandbox, opened: Open
) -> None:
    there = hired(sandbox)
    async with opened(csv("900009;Lefèvre;Aurélie;2026-05-15;")) as (creation, sheet):
        planned = await creation.plan(sheet)
        await applied(creation, sheet, planned.plan.id)
        [entry] = (await creation.ledger.by_key({planned.plan.rows[0].key or ""})).values()
        assert entry.candidates == (there["guid_employee"],)
        sandbox.edit("employees", there["guid_employee"], last_name="Martin", first_name="Léa")
        choice = there["guid_employee"].upper()
        await decide(creation, [entry.id], ReviewDecision(choice, "ada", "manual__1"))
        [entry] = await creation.ledger.entries([entry.id])
        assert (entry.state, entry.remote_id) == (State.ADOPTED, there["guid_employee"])


async def test_an_abandoned_row_is_sent_only_by_a_reviewer_s_decision(
    sandbox: Sandbox, drop: Drop, opened: Open
) -> None:
    async with opened(**REVIEWED) as (creation, sheet):
        _, [row, _] = await in_review(creation, sheet, sandbox)
        no = await decide(creation, [row], ReviewDecision("give_up", "ada", "manual__1"))
        await creation.applier().apply(no)
        # The decision holds for its drop; a row of another drop goes to review again.
        for each, codes in [
            (creation.drop_id, ["given_up", "manager_not_created"]),
            (drop(TWO + b"\n").drop_id, ["given_up_before", "waits_for_manager"]),
        ]:
            again = replace(creation, drop_id=each)
            planned = await again.plan(sheet)
            plan_id = await applied(again, sheet, planned.plan.id)
            outcomes, _ = await receipt(again, sheet, plan_id)
            assert [outcome.faults[0].code for outcome in outcomes] == codes
        assert sandbox.truth()["created"]["employees"] == []
        yes = await decide(creation, [row], ReviewDecision("create", "bob", "manual__2"))
        await creation.applier().apply(yes)
        assert len(sandbox.truth()["created"]["employees"]) == 2


async def test_a_create_decision_grants_one_more_attempt(sandbox: Sandbox, opened: Open) -> None:
    async with opened(**REVIEWED) as (creation, sheet):
        _, [row, _] = await in_review(creation, sheet, sandbox)
        sandbox.set_fault("reset_after_read", "create_employee")
        decision = ReviewDecision("create", "ada", "manual__1")
        await creation.applier().apply(await decide(creation, [row], decision))
        # It waits for a word again; the run that is tried again has given its own.
        await creation.applier().apply(await decide(creation, [row], decision))
        [entry] = await creation.ledger.entries([row])
        assert (entry.state, entry.attempt) == (State.REVIEW, 2)


async def test_a_receipt_counts_every_row_without_personal_data(opened: Open) -> None:
    async with opened() as (creation, sheet):
        planned = await creation.plan(sheet)
        plan_id = await applied(creation, sheet, planned.plan.id)
        _, written = await receipt(creation, sheet, plan_id)
    content = json.loads(written)
    assert content["counts"]["created"] == content["rows_in"] == 2
    assert content["file_sha256"] == sheet.sha256
    assert content["plan"]["id"] == plan_id
    assert content["plan"]["decided_by"] == SETTING
    for secret in ("Lefèvre", "Aurélie", "900001", "2026-05-15"):
        assert secret not in written.decode()


def test_only_bodies_hold_personal_data_and_are_deleted(warehouse: Engine, drop: Drop) -> None:
    onboard(drop(TWO))
    for table in ("creation", "creation_event", "creation_plan", "creation_snapshot"):
        kept = scalars(warehouse, f"select t::text from bms.{table} t")
        assert kept
        # Digests and compressed bytes are written in hexadecimal, in which five digits may be there by chance.
        secret = re.compile("Lef|Martin|(?<![0-9a-f])90000[12](?![0-9a-f])|2026-05-15")
        assert not any(map(secret.search, kept))
    assert scalar(warehouse, "select count(*) from bms.creation_body") == 2
    now = scalar(warehouse, "select now()")
    with ThreadPoolExecutor() as pool, warehouse.begin() as entering:
        for change in (
            "creation set state = 'ready' where id",
            "creation_body set body = body where creation_id",
        ):
            entering.execute(text(f"update bms.{change} = (select min(id) from bms.creation)"))
        deleted = pool.submit(delete_bodies, warehouse, now)
        wait([deleted], timeout=0.3)
    assert deleted.result() == 1
    assert scalars(
        warehouse, "select state from bms.creation join bms.creation_body on creation_id = id"
    ) == ["ready"]


async def test_a_snapshot_is_deleted_once_no_unfinished_row_needs_it(
    warehouse: Engine, sandbox: Sandbox, opened: Open
) -> None:
    async with opened(**REVIEWED) as (creation, sheet):
        _, [row, _] = await in_review(creation, sheet, sandbox)
        [entry] = await creation.ledger.entries([row])
        later = await creation.ledger.now()
        assert store.delete_snapshots(warehouse, later) == 1, "the one of the plan"
        assert (await creation.ledger.snapshots([entry.snapshot_id or 0])).keys() == {
            entry.snapshot_id
        }
        no = await decide(creation, [row], ReviewDecision("give_up", "ada", "manual__1"))
        await creation.applier().apply(no)
        assert store.delete_snapshots(warehouse, later) == 1
        [ended] = await creation.ledger.entries([row])
        assert ended.snapshot_id is None


async def test_the_audit_of_the_next_run_reports_a_duplicate_once(
    warehouse: Engine, sandbox: Sandbox, drop: Drop
) -> None:
    await asyncio.to_thread(onboard, drop(TWO))
    hired(sandbox, "900002", "Martin", "Paul")
    for _ in range(2):
        run = drop(csv("900003;Autre;Zoé;2026-05-15;"))
        async with creation_of(run, warehouse) as (creation, sheet):
            planned = await creation.plan(sheet)
        [finding] = planned.findings
        assert (finding.what, len(finding.remote_ids)) == ("double", 2)
    assert scalar(warehouse, "select count(*) from bms.creation_event where what = 'double'") == 1


HEAD = "900001;Lefèvre;Aurélie;2026-05-15;"
REPORT = "900002;Martin;Paul;2026-05-15;"


async def test_a_row_in_review_and_a_reversed_hierarchy_form_no_cycle(
    warehouse: Engine, sandbox: Sandbox, drop: Drop
) -> None:
    hired(sandbox, "77", "Martin", "Paul")
    first, second = drop(csv(HEAD, REPORT + "900001")), drop(csv(HEAD + "900002", REPORT))
    async with creation_of(first, warehouse) as (creation, sheet):
        await entered(creation, sheet)
    async with creation_of(second, warehouse) as (creation, sheet):
        begun = await entered(creation, sheet)
        assert begun.chunks == 0
        concluded = await creation.conclude(begun.plan_id, sheet)
    assert [o.faults[0].code for o in concluded.outcomes] == [
        "manager_cycle_unfinished",
        "waits_with_other_data",
    ]
    assert sandbox.truth()["created"]["employees"] == []


async def test_a_reversed_hierarchy_waits_for_rows_that_another_task_holds(
    warehouse: Engine, drop: Drop
) -> None:
    first, second = drop(csv(HEAD, REPORT + "900001")), drop(csv(HEAD + "900002", REPORT))
    async with creation_of(first, warehouse) as (creation, sheet):
        begun = await entered(creation, sheet)
        [[_, report]] = await creation.chunks(begun.plan_id)
    async with creation_of(second, warehouse) as (creation, sheet):
        hold = partial(transitions.claim, owner="other", life=timedelta(hours=1))
        await creation.ledger.change([report], lambda entry, now: hold(entry, now=now))
        with pytest.raises(Busy, match="cycle"):
            await entered(creation, sheet)
        await creation.ledger.change([report], lambda e, _: transitions.release(e, owner="other"))
        begun = await entered(creation, sheet)
        await applied(creation, sheet, begun.plan_id)
        outcomes = await creation.conclude(begun.plan_id, sheet)
    assert [each.state for each in outcomes.outcomes] == ["created", "created"]


async def test_a_rejected_manager_is_not_created_with_its_earlier_data(
    warehouse: Engine, sandbox: Sandbox, drop: Drop
) -> None:
    first = drop(csv(HEAD, REPORT + "900001"))
    mistyped = drop(csv(HEAD.replace("2026-05-15", "2026-13-15"), REPORT + "900001"))
    async with creation_of(first, warehouse) as (creation, sheet):
        await entered(creation, sheet)
    async with creation_of(mistyped, warehouse) as (creation, sheet):
        begun = await entered(creation, sheet)
        assert begun.chunks == 0
        concluded = await creation.conclude(begun.plan_id, sheet)
    assert [each.state for each in concluded.outcomes] == ["rejected", "rejected"]
    assert sandbox.truth()["created"]["employees"] == []
