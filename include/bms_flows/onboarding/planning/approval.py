"""Store of plans and their approval states: made, approved or refused, applied."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    Text,
    Update,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from bms_flows.onboarding.faults import fault_to_json
from bms_flows.onboarding.ledger.store import among
from bms_flows.onboarding.planning.plan import ApprovalDecision, Plan, PlannedRow
from bms_warehouse.database import NOW
from bms_warehouse.locks import serialize
from bms_warehouse.tables import creation_plan

SETTING = "BMS_APPROVAL"
"""Recorded as the approver of a plan that needs no approval."""
APPROVED = ("approved", "applied")


class NotApproved(Exception):
    """The plan is not approved, or the drop has no such plan."""

    retriable = False


@dataclass(frozen=True)
class Plans:
    """The plans of a drop, in `bms.creation_plan`."""

    engine: Engine
    drop_id: int

    def decide(
        self,
        plan: Plan,
        judge: Callable[[int], ApprovalDecision],
        *,
        since: datetime,
        by_setting: bool,
    ) -> ApprovalDecision:
        """Save a plan and decide whether it needs approval; if not, `BMS_APPROVAL` approves the plan.

        `judge` decides by the number of rows that the setting has approved `since` midnight. An existing
        plan keeps its state. With `by_setting` false the setting approves no plan. A lock per resource
        keeps two plans from using the same remaining rows of the day.
        """
        with self.engine.begin() as connection:
            serialize(connection, f"approval of {plan.resource}")
            decision = judge(_created_without_approval(connection, plan, since))
            self._save(connection, plan, decision)
            if by_setting and not decision.ask:
                connection.execute(self._decided(plan.id, "approved", SETTING))
        return decision

    def _save(self, connection: Connection, plan: Plan, decision: ApprovalDecision) -> None:
        bound = {"headcount": plan.headcount, "empty_scopes": plan.empty_scopes}
        connection.execute(
            upsert(creation_plan)
            .values(
                drop_id=self.drop_id,
                id=plan.id,
                resource=plan.resource,
                state="made",
                bound=asdict(plan.bound) | bound,
                counts=plan.counts,
                breaches=[asdict(breach) for breach in decision.breaches],
                creates=plan.creates,
                rows=[_row(row) for row in plan.rows],
                made_at=NOW,
            )
            .on_conflict_do_nothing()
        )

    def request(self, plan: Plan, decision: ApprovalDecision, began: datetime) -> None:
        """Reset a plan to wait for approval, unless it was decided after the requesting task `began`.

        A later decision answers a request of an earlier try of the same task.
        """
        decided_at = creation_plan.c.decided_at
        self._change(
            plan.id,
            creation_plan.c.state != "applied",
            or_(decided_at.is_(None), decided_at < began),
            state="made",
            breaches=[asdict(breach) for breach in decision.breaches],
            made_at=NOW,
            decided_by=None,
            decided_at=None,
            asked_at=NOW,
            asked_because=[asdict(reason) for reason in decision.reasons],
            notified_at=None,
        )

    def exclude(self, plan_id: str, users: Sequence[str]) -> None:
        """Save the ids and names of the users whose answer to the request does not count."""
        self._change(plan_id, excluded=[*users])

    def ask_again(self, plan_id: str) -> None:
        """Restart the time of a request whose answer is void, so that a message goes out again."""
        self._change(plan_id, creation_plan.c.state == "made", asked_at=NOW, notified_at=None)

    def save_file_digest(self, plan_id: str, sha256: str) -> None:
        """Save the digest of a plan's file, with which the board recognizes an altered file."""
        self._change(plan_id, file_digest=sha256)

    def approve(self, plan_id: str, who: str) -> None:
        """Approve a plan, also a plan that was refused before."""
        with self.engine.begin() as connection:
            connection.execute(self._decided(plan_id, "approved", who))

    def refuse(self, plan_id: str, who: str) -> None:
        """Refuse a plan (an approver or the timeout), also an approved plan that is not entered yet."""
        with self.engine.begin() as connection:
            connection.execute(self._decided(plan_id, "refused", who))

    def mark_applied(self, connection: Connection, plan_id: str) -> None:
        """Mark a plan as applied in the caller's transaction; raise `NotApproved` unless it is approved."""
        approved = creation_plan.c.state.in_(APPROVED)
        marked = self._updated(plan_id, approved, state="applied", applied_at=NOW)
        if not connection.execute(marked).rowcount:
            raise NotApproved(
                f"the approval of plan {plan_id[:12]} of drop {self.drop_id} was withdrawn"
            )

    def load(self, plan_id: str) -> Row[*tuple[Any, ...]]:
        """Return a saved plan; raise `NotApproved` if the drop has no such plan."""
        wanted = select(creation_plan).where(*self._is(plan_id))
        with self.engine.connect() as connection:
            found = connection.execute(wanted).one_or_none()
        if found is None:
            raise NotApproved(
                f"drop {self.drop_id} has no plan {plan_id[:12]}, perhaps because the warehouse was"
                " restored: drop the file again (its original is in archive/)"
            )
        return found

    def latest_applied(self) -> Row[*tuple[Any, ...]] | None:
        """Return the plan that was applied last, None without one."""
        applied = (creation_plan.c.drop_id == self.drop_id) & (creation_plan.c.state == "applied")
        latest = select(creation_plan).where(applied).order_by(creation_plan.c.applied_at.desc())
        with self.engine.connect() as connection:
            return connection.execute(latest.limit(1)).one_or_none()

    def require_approved(self, plan_id: str) -> Row[*tuple[Any, ...]]:
        """Return an approved or applied plan; raise `NotApproved` for another state."""
        found = self.load(plan_id)
        if found.state not in APPROVED:
            raise NotApproved(
                f"plan {plan_id[:12]} of drop {self.drop_id} is {found.state}, not approved"
            )
        return found

    def _change(self, plan_id: str, *where: ColumnElement[bool], **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(self._updated(plan_id, *where, **values))

    def _decided(self, plan_id: str, state: str, who: str) -> Update:
        """Return the update of a decision; an applied plan keeps its state."""
        undecided = creation_plan.c.state.not_in(("applied", state))
        return self._updated(plan_id, undecided, state=state, decided_by=who, decided_at=NOW)

    def _updated(self, plan_id: str, *where: ColumnElement[bool], **values: Any) -> Update:
        return update(creation_plan).where(*self._is(plan_id), *where).values(values)

    def _is(self, plan_id: str) -> tuple[ColumnElement[bool], ...]:
        return creation_plan.c.drop_id == self.drop_id, creation_plan.c.id == plan_id


def _created_without_approval(connection: Connection, plan: Plan, since: datetime) -> int:
    """Return how many rows of other plans the setting has approved since `since`."""
    keys = (
        select(func.jsonb_object_keys(creation_plan.c.creates, type_=Text).label("key"))
        .where(
            creation_plan.c.resource == plan.resource,
            creation_plan.c.state.in_(APPROVED),
            creation_plan.c.decided_by.startswith(SETTING),
            creation_plan.c.decided_at >= since,
        )
        .distinct()
        .subquery()
    )
    others = select(func.count()).where(~among(keys.c.key, plan.creates))
    return connection.execute(others).scalar_one()


def _row(row: PlannedRow) -> dict[str, Any]:
    """Return a planned row without personal data."""
    return {
        "line": row.line,
        "action": row.action,
        "key": row.key,
        "digest": row.digest,
        "reason": row.reason,
        "details": dict(row.details),
        "faults": [fault_to_json(fault) for fault in row.faults],
        "differences": [each.name for each in row.differences],
        "candidates": list(row.candidates),
        "remote_id": row.known.remote_id if row.known else None,
        "remote_number": row.known.number if row.known else None,
        "is_standby": row.known.is_standby if row.known else None,
    }
