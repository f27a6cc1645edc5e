"""The answer to "needs review": a person takes a candidate, asks for a creation, or gives the row up."""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, delete, select

from bms_flows.creation import states
from bms_flows.creation.entry import DONE, Entry
from bms_flows.creation.ledger import Claimed
from bms_flows.creation.workbench import Workbench
from bms_warehouse.tables import creation, creation_body, creation_event, creation_plan

CREATE = "create"
GIVE_UP = "give_up"


class BadDecision(ValueError):
    """The decision can't be taken; the text says why and what can."""

    retriable = False


@dataclass(frozen=True)
class Decision:
    """A person's word on one row: `create`, `give_up` or a record's remote id; by which run it came."""

    choice: str
    who: str
    run: str

    @property
    def entered_as(self) -> tuple[str, str]:
        """What and detail of the row's history that say that it was taken."""
        if self.choice in (CREATE, GIVE_UP):
            return f"decided_{self.choice}", self.run
        return "decided_candidate", self.choice.casefold()


def row_of(engine: Engine, resource: str, drop_id: int, line: int) -> tuple[int, str]:
    """Return the ledger's row of a line of a drop, and the plan it was entered by; raise `BadDecision`.

    An earlier drop may have entered it: one row of the ledger for each record, however often it comes.
    """
    not_waiting = f"line {line} of drop {drop_id} is not waiting for a decision"
    with engine.connect() as connection:
        applied = connection.execute(
            select(creation_plan.c.id, creation_plan.c.rows)
            .where(creation_plan.c.drop_id == drop_id, creation_plan.c.state == "applied")
            .order_by(creation_plan.c.applied_at.desc())
            .limit(1)
        ).one_or_none()
        if applied is None:
            raise BadDecision(
                f"{not_waiting}: nothing of the drop was entered; trigger with drop={drop_id} alone"
            )
        planned = next((row for row in applied.rows if row["line"] == line), None)
        found = connection.execute(
            select(creation).where(
                creation.c.resource == resource, creation.c.key == (planned or {}).get("key")
            )
        ).one_or_none()
    if planned is None or found is None:
        raise BadDecision(not_waiting)
    if found.digest != planned["digest"] and (found.drop_id, found.line) != (drop_id, line):
        raise BadDecision(
            f"{not_waiting}: what waits has other data, of line {found.line} of drop {found.drop_id}"
        )
    return found.id, applied.id


async def decide_review(bench: Workbench, row: int, decision: Decision) -> list[int]:
    """Take a person's decision on one row of the ledger; return the rows to apply after it.

    It is entered in the row's history with who and when, in the transaction that moves the row; a
    second one on the same row is refused (`BadDecision`). One that stands already, since the run
    that took it was killed before it was carried out, isn't taken again.
    """
    choice, who, run = decision.choice, decision.who, decision.run
    if choice == CREATE and not await bench.ledger.bodies([row]):
        raise BadDecision(f"what the row was to send is erased: {GIVE_UP}, and drop it again")
    if await asyncio.to_thread(_stands, bench, row, decision):
        [entry] = await bench.ledger.entries([row])
        moved = {row: entry}
    elif choice == CREATE:
        moved = await bench.ledger.change(
            [row], lambda e, _: states.create_again(e, who=who, run=run)
        )
    elif choice == GIVE_UP:
        moved = await bench.ledger.change([row], lambda e, _: states.give_up(e, who=who, run=run))
    else:
        moved = await _choose(bench, row, choice, who)
    if row not in moved:
        raise BadDecision(f"row {row} is not waiting for a decision")
    followers = await asyncio.to_thread(_followers, bench, moved[row])
    return [row, *followers] if choice == CREATE else followers


def _stands(bench: Workbench, row: int, decision: Decision) -> bool:
    """Whether the last decision on the row is this one."""
    last = (
        select(creation_event.c.what, creation_event.c.who, creation_event.c.detail)
        .where(creation_event.c.creation_id == row, creation_event.c.what.startswith("decided_"))
        .order_by(creation_event.c.id.desc())
        .limit(1)
    )
    with bench.warehouse.connect() as connection:
        found = connection.execute(last).one_or_none()
    if found is None or found.who != decision.who:
        return False
    detail = found.detail if found.what != "decided_candidate" else found.detail.casefold()
    return (found.what, detail) == decision.entered_as


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
