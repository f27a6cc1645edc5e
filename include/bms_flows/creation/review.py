"""The answer to "needs review": a person takes a candidate, asks for a creation, or gives the row up."""

import asyncio
from datetime import datetime

from sqlalchemy import Engine, delete, select

from bms_flows.creation import states
from bms_flows.creation.entry import DONE, Entry
from bms_flows.creation.ledger import Claimed
from bms_flows.creation.workbench import Workbench
from bms_warehouse.tables import creation, creation_body, creation_plan

CREATE = "create"
GIVE_UP = "give_up"


class BadDecision(ValueError):
    """The decision can't be taken; the text says why and what can."""

    retriable = False


def waiting_row(engine: Engine, resource: str, drop_id: int, line: int) -> tuple[int, str]:
    """Return the ledger's row of a line that waits for a person, and the plan it was entered by."""
    applied = (
        select(creation_plan.c.id)
        .where(creation_plan.c.drop_id == drop_id, creation_plan.c.state == "applied")
        .order_by(creation_plan.c.applied_at.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = select(creation.c.id, applied).where(
        creation.c.resource == resource,
        creation.c.drop_id == drop_id,
        creation.c.line == line,
        creation.c.state == "review",
    )
    with engine.connect() as connection:
        found = connection.execute(query).one_or_none()
    if found is None:
        raise BadDecision(f"line {line} of drop {drop_id} is not waiting for a decision")
    row, plan_id = found
    return row, plan_id


async def decide_review(bench: Workbench, row: int, choice: str, who: str) -> list[int]:
    """Take `who`'s decision on one row of the ledger; return the rows to apply after it.

    `choice` is `create`, `give_up` or the remote id of a record. The decision is entered in the
    row's history with who and when, in the transaction that carries it out; a second one on the
    same row is refused.
    """
    if choice == CREATE:
        moved = await bench.ledger.change([row], lambda e, _: states.create_again(e, who=who))
    elif choice == GIVE_UP:
        moved = await bench.ledger.change([row], lambda e, _: states.give_up(e, who=who))
    else:
        moved = await _choose(bench, row, choice, who)
    if row not in moved:
        raise BadDecision(f"row {row} is not waiting for a decision")
    followers = await asyncio.to_thread(_followers, bench, moved[row])
    return [row, *followers] if choice == CREATE else followers


async def _choose(bench: Workbench, row: int, remote_id: str, who: str) -> dict[int, Entry]:
    try:
        record = await bench.remote.read(remote_id)
    except ValueError:
        record = None
    if record is None:
        raise BadDecision(
            f"the service has no such record; choose a candidate, {CREATE} or {GIVE_UP}"
        )
    named = bench.remote.named(record)
    try:
        return await bench.ledger.change(
            [row],
            lambda entry, _: states.choose(
                entry,
                who=who,
                remote_id=named.remote_id,
                number=named.number,
                standby=named.is_standby,
            ),
        )
    except Claimed:
        raise BadDecision("that record belongs to another row of the ledger") from None


def _followers(bench: Workbench, entry: Entry) -> list[int]:
    """Return the rows that waited for this one as their manager."""
    with bench.warehouse.connect() as connection:
        return list(
            connection.scalars(
                select(creation.c.id)
                .where(creation.c.resource == bench.resource.name)
                .where(creation.c.manager_key == entry.key, creation.c.state == "ready")
                .order_by(creation.c.id)
            )
        )


def forget_bodies(engine: Engine, before: datetime) -> int:
    """Delete what was sent for rows that reached their end before a time; return how many."""
    ended = select(creation.c.id).where(
        creation.c.state.in_([str(state) for state in DONE]), creation.c.changed_at < before
    )
    with engine.begin() as connection:
        return connection.execute(
            delete(creation_body).where(creation_body.c.creation_id.in_(ended))
        ).rowcount
