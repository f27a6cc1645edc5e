"""Last stages of an onboarding: apply the chunks of an entered plan and decisions, and conclude.

Each stage is idempotent; stages pass only the drop's number and the plan's id to each other.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.ledger.store import with_managers
from bms_flows.onboarding.planning import approval
from bms_flows.onboarding.planning.order import chunks
from bms_flows.onboarding.planning.plan import Action
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.reporting.differences import ComparedContact, compare_rows
from bms_flows.onboarding.reporting.outcome import RowOutcome, matched_ids
from bms_flows.onboarding.reporting.receipt import make_receipt
from bms_flows.onboarding.reporting.review import ReviewDecision, decide_review
from bms_flows.onboarding.sending.verify import verify
from bms_flows.runtime.settings import MAX_MAPPED_TASKS


@dataclass(frozen=True)
class Conclusion:
    """The outcomes of a drop; without a compared plan `matched` and `compared` are empty."""

    applied: bool
    outcomes: Sequence[RowOutcome]
    receipt: bytes
    matched: Mapping[str, str]
    compared: Sequence[ComparedContact]


async def chunks_of(
    onboarding: OnboardingContext, drop_id: int, plan_id: str
) -> Sequence[Sequence[int]]:
    """Return the unfinished ledger rows of an applied plan by chunk.

    Deterministic: a task receives only the number of its chunk.
    """
    plan = await asyncio.to_thread(approval.load, onboarding.warehouse, drop_id, plan_id)
    keys = [r["key"] for r in plan.rows if r["action"] in (Action.CREATE, Action.RESUME)]
    # Managers that another drop left unfinished are included, or their reports would never be sent.
    entries = await with_managers(onboarding.ledger, keys)
    own = set(keys)
    managers = [key for key in entries if key not in own]
    manager_of = {key: e.manager_key for key, e in entries.items() if e.manager_key}
    split = chunks(
        [key for key in [*sorted(managers), *keys] if key in entries],
        manager_of,
        onboarding.settings.chunk_rows,
        MAX_MAPPED_TASKS,
    )
    return [[entries[key].id for key in chunk] for chunk in split]


async def apply_chunk(
    onboarding: OnboardingContext, drop_id: int, plan_id: str, number: int
) -> dict[str, int]:
    """Process the rows of one chunk; return the number of rows by state.

    Raises `Busy` while another task holds some of the rows, and the client's errors.
    """
    rows = (await chunks_of(onboarding, drop_id, plan_id))[number]
    return {state.value: n for state, n in (await onboarding.applier().apply(rows)).items()}


async def apply_decision(
    onboarding: OnboardingContext, rows: Sequence[int], decision: ReviewDecision
) -> None:
    """Commit a reviewer's decision on ledger rows, and process the rows that it released."""
    released = await decide_review(
        onboarding.warehouse, onboarding.ledger, onboarding.remote, rows, decision
    )
    await onboarding.applier().apply(released)


async def conclude(
    onboarding: OnboardingContext, drop_id: int, plan_id: str, sheet: Sheet
) -> Conclusion:
    """Read created records back and return the outcomes of a drop."""
    engine, ledger, remote = onboarding.warehouse, onboarding.ledger, onboarding.remote
    rows = [row for chunk in await chunks_of(onboarding, drop_id, plan_id) for row in chunk]
    await verify(engine, ledger, remote, onboarding.settings.settle_s, rows)
    snapshots = onboarding.snapshots(drop_id, sheet)
    outcomes, receipt = await make_receipt(engine, ledger, remote, snapshots, plan_id)
    plan = await asyncio.to_thread(approval.load, engine, drop_id, plan_id)
    if plan.state != "applied":
        return Conclusion(False, outcomes, receipt, {}, ())
    matched = matched_ids(onboarding.identity, sheet, outcomes)
    compared = await compare_rows(remote, sheet, outcomes)
    return Conclusion(True, outcomes, receipt, matched, compared)
