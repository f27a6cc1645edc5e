"""A plan as it is kept, and what was said of it: made, approved or refused, applied."""

from dataclasses import asdict
from datetime import date, datetime, time
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.faults import rows
from bms_flows.onboarding.planning import limits
from bms_flows.onboarding.planning.limits import Decision
from bms_flows.onboarding.planning.plan import Plan, Planned
from bms_flows.onboarding.reading.sheet import LastLine
from bms_warehouse.database import clock
from bms_warehouse.tables import creation_plan

SETTING = "BMS_APPROVAL"
"""Who is named where nobody was asked."""


class NotApproved(Exception):
    """The plan was not approved, or is none of this drop's."""

    retriable = False


def decide(
    onboarding: OnboardingContext,
    drop_id: int,
    plan: Plan,
    today: date,
    cut_off: LastLine | None,
    *,
    by_setting: bool,
) -> Decision:
    """Store a plan and decide whether it needs approval; `BMS_APPROVAL` approves it where it doesn't.

    A stored plan stays as it is, with what was decided on it. With `by_setting` false the setting
    approves nothing. Plans of a resource are decided on one after another, so that no two of them
    use up the same rows of the day.
    """
    settings = onboarding.settings
    with onboarding.warehouse.begin() as connection:
        connection.execute(
            text(
                "select pg_advisory_xact_lock(hashtext('bms.creation approval'), hashtext(:name))"
            ),
            {"name": plan.resource},
        )
        midnight = datetime.combine(today, time(), settings.time_zone)
        unasked = _created_unasked(connection, plan.resource, drop_id, midnight)
        decision = limits.decide(
            plan, onboarding.rules.plan, settings.approval, today, unasked, cut_off=cut_off
        )
        _store(connection, drop_id, plan, decision)
        if by_setting and not decision.ask:
            _settle(connection, drop_id, plan.id, "approved", SETTING, ("made", "refused"))
    return decision


def _created_unasked(connection: Connection, resource: str, drop_id: int, since: datetime) -> int:
    """Return how many rows of other drops the setting has approved since a moment."""
    keys = (
        select(func.jsonb_object_keys(creation_plan.c.creates))
        .where(
            creation_plan.c.resource == resource,
            creation_plan.c.drop_id != drop_id,
            creation_plan.c.state.in_(("approved", "applied")),
            creation_plan.c.decided_by.startswith(SETTING),
            creation_plan.c.decided_at >= since,
        )
        .distinct()
    )
    return connection.execute(select(func.count()).select_from(keys.subquery())).scalar_one()


def _store(connection: Connection, drop_id: int, plan: Plan, decision: Decision) -> None:
    connection.execute(
        upsert(creation_plan)
        .values(
            drop_id=drop_id,
            id=plan.id,
            resource=plan.resource,
            state="made",
            bound=asdict(plan.bound) | {"headcount": plan.headcount},
            counts=plan.counts,
            breaches=[asdict(breach) for breach in decision.breaches],
            creates=plan.creates,
            rows=[_row(row) for row in plan.rows],
            made_at=clock(connection),
        )
        .on_conflict_do_nothing()
    )


def ask(
    onboarding: OnboardingContext, drop_id: int, plan: Plan, decision: Decision, began: datetime
) -> None:
    """Let a plan wait for an answer, whatever was said of it before the asking task `began`.

    What was said since stands: another try of the task has asked, and was answered.
    """
    decided_at = creation_plan.c.decided_at
    with onboarding.warehouse.begin() as connection:
        connection.execute(
            update(creation_plan)
            .where(_is(drop_id, plan.id), creation_plan.c.state != "applied")
            .where(or_(decided_at.is_(None), decided_at < began))
            .values(
                state="made",
                breaches=[asdict(breach) for breach in decision.breaches],
                made_at=clock(connection),
                decided_by=None,
                decided_at=None,
            )
        )


def agree(onboarding: OnboardingContext, drop_id: int, plan_id: str, who: str) -> None:
    """Take `who`'s yes to a plan; also later, to one that was refused."""
    with onboarding.warehouse.begin() as connection:
        _settle(connection, drop_id, plan_id, "approved", who, ("made", "refused"))


def refuse(onboarding: OnboardingContext, drop_id: int, plan_id: str, who: str) -> None:
    """Take `who`'s no to a plan, or that time is over; also to one approved and not entered."""
    with onboarding.warehouse.begin() as connection:
        _settle(connection, drop_id, plan_id, "refused", who, ("made", "approved"))


def applied(connection: Connection, drop_id: int, plan_id: str) -> None:
    """Mark a plan as applied, within the caller's transaction; raise `NotApproved` where it is not approved."""
    marked = connection.execute(
        update(creation_plan)
        .where(_is(drop_id, plan_id), creation_plan.c.state.in_(("approved", "applied")))
        .values(state="applied", applied_at=clock(connection))
    )
    if not marked.rowcount:
        raise NotApproved(f"the approval of plan {plan_id[:12]} of drop {drop_id} was taken back")


def kept(onboarding: OnboardingContext, drop_id: int, plan_id: str) -> Row[*tuple[Any, ...]]:
    """Return a plan as it was kept."""
    with onboarding.warehouse.connect() as connection:
        found = connection.execute(select(creation_plan).where(_is(drop_id, plan_id))).one_or_none()
    if found is None:
        raise NotApproved(f"drop {drop_id} has no plan {plan_id[:12]}")
    return found


def _settle(
    connection: Connection,
    drop_id: int,
    plan_id: str,
    state: str,
    who: str,
    possible: tuple[str, ...],
) -> None:
    connection.execute(
        update(creation_plan)
        .where(_is(drop_id, plan_id), creation_plan.c.state.in_(possible))
        .values(state=state, decided_by=who, decided_at=clock(connection))
    )


def _is(drop_id: int, plan_id: str) -> ColumnElement[bool]:
    return (creation_plan.c.drop_id == drop_id) & (creation_plan.c.id == plan_id)


def _row(row: Planned) -> dict[str, Any]:
    """Return a planned row without a value of it."""
    return {
        "line": row.line,
        "action": row.action,
        "key": row.key,
        "digest": row.digest,
        "reason": row.reason,
        "faults": [rows.as_kept(fault) for fault in row.faults],
        "differences": [each.name for each in row.differences],
        "candidates": list(row.candidates),
        "remote_id": row.known.remote_id if row.known else None,
        "remote_number": row.known.number if row.known else None,
        "is_standby": row.known.is_standby if row.known else None,
    }
