"""Review decisions: a reviewer chooses a record, requests a creation, or gives rows up."""

import asyncio
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

import msgspec
from sqlalchemy import Engine, Row, func, select

from bms_flows.onboarding.ledger import decisions
from bms_flows.onboarding.ledger.entry import Entry, State, Transition
from bms_flows.onboarding.ledger.store import PostgresLedger, RemoteIdConflict, among
from bms_flows.onboarding.planning.approval import Plans
from bms_flows.onboarding.resources.body import compare
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.evidence import RecordIds
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.service_remote import ServiceRemote
from bms_warehouse.tables import creation, creation_event

CREATE = "create"
GIVE_UP = "give_up"
ALL = "all"
SPAN: Final = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?")


class InvalidDecision(ValueError):
    """The decision is not possible; the message explains which decisions are."""

    retriable = False


@dataclass(frozen=True)
class ReviewDecision:
    """A reviewer's decision (`create`, `give_up` or a remote id), with reviewer and DAG run."""

    choice: str
    who: str
    run: str

    @property
    def event(self) -> tuple[str, str]:
        """The history event of the decision: what and detail."""
        if self.choice in (CREATE, GIVE_UP):
            return f"decided_{self.choice}", self.run
        return "decided_candidate", self.choice.casefold()


@dataclass(frozen=True)
class LineSelection:
    """The lines of a drop that a decision covers: single lines and ranges."""

    named: frozenset[int]
    ranges: tuple[range, ...] = ()

    @classmethod
    def read(cls, text: str) -> "LineSelection":
        """Parse `4`, `3-7, 9` or `all`; raise `InvalidDecision`."""
        if text.strip().casefold() == ALL:
            return EVERY_LINE
        named: set[int] = set()
        ranges: list[range] = []
        for part in text.split(","):
            span = SPAN.fullmatch(part)
            first, last = (int(span[1]), int(span[2] or span[1])) if span else (0, 0)
            if not 0 < first <= last:
                raise InvalidDecision("enter line numbers of needs_review.csv: 4 or 3-7, 9 or all")
            if first == last:
                named.add(first)
            else:
                ranges.append(range(first, last + 1))
        return cls(frozenset(named), tuple(ranges))

    def __contains__(self, line: int) -> bool:
        return line in self.named or any(line in each for each in self.ranges)


@dataclass(frozen=True)
class ChosenRows:
    """Ledger rows that a decision covers, by line, and the applied plan of their drop."""

    plan_id: str
    headcount: int
    empty_scopes: int
    by_line: Mapping[int, Row[*tuple[Any, ...]]]

    @property
    def rows(self) -> list[int]:
        """The numbers of the rows."""
        return list(dict.fromkeys(entry.id for entry in self.by_line.values()))


EVERY_LINE: Final = LineSelection(frozenset(), (range(1, sys.maxsize),))


def choose_rows(
    engine: Engine, resource: str, drop_id: int, lines: LineSelection, decision: ReviewDecision
) -> ChosenRows:
    """Return the ledger rows of the selected lines.

    Each single line must wait for a decision. Ranges and `all` select the waiting lines, plus the lines
    that this decision changed before its run was killed. An earlier drop may have entered the row: the
    ledger has one row per record. Raises `InvalidDecision`.
    """
    plan = Plans(engine, drop_id).latest_applied()
    if plan is None:
        raise InvalidDecision(
            f"no row of drop {drop_id} was entered, so no line waits for a decision; trigger with"
            f" drop={drop_id} alone"
        )
    planned = {row["line"]: row for row in plan.rows if row["line"] in lines}
    entries = _entries(engine, resource, [row["key"] for row in planned.values() if row["key"]])
    decided = _decided(engine, [entry.id for entry in entries.values()], decision)
    chosen: dict[int, Row[*tuple[Any, ...]]] = {}
    for line in sorted(lines.named | planned.keys()):
        entry = entries.get(planned[line]["key"]) if line in planned else None
        problem = f"line {line} {_not_waiting(drop_id)}"
        if entry is not None:
            where = (entry.drop_id, entry.line)
            other = entry.digest != planned[line]["digest"] and where != (drop_id, line)
            if not other and (entry.state == State.REVIEW or entry.id in decided):
                chosen[line] = entry
                continue
            if other and entry.state == State.REVIEW:
                problem += f": line {where[1]} of drop {where[0]} waits, with other data"
        if line in lines.named:
            raise InvalidDecision(problem)
    if not chosen:
        raise InvalidDecision(f"no such line {_not_waiting(drop_id)}")
    if lines is EVERY_LINE and decision.choice == CREATE:
        _require_one_reason(chosen)
    return ChosenRows(plan.id, plan.bound["headcount"], plan.bound.get("empty_scopes", 0), chosen)


async def decide_review(
    ledger: PostgresLedger, remote: ServiceRemote, rows: Sequence[int], decision: ReviewDecision
) -> list[int]:
    """Commit a reviewer's decision on ledger rows; return the rows to process afterwards.

    The same transaction adds the decision, with reviewer and time, to the history of each row. Rows
    that are no longer in review raise `InvalidDecision`, unless this decision changed them before its
    run was killed.
    """
    if decision.choice == CREATE:
        await bodies_to_send(ledger, rows)
    decided = await asyncio.to_thread(_decided, ledger.engine, rows, decision)
    left = [row for row in rows if row not in decided]
    record = None
    if left and decision.choice not in (CREATE, GIVE_UP):
        record = await _chosen(ledger, remote, left, decision.choice)
    try:
        moved = await ledger.change(left, lambda entry, _: _transition(entry, decision, record))
    except RemoteIdConflict:
        raise InvalidDecision("that record belongs to another row of the ledger") from None
    if not decided and not moved:
        raise InvalidDecision("the rows are not waiting for a decision")
    entries = await ledger.entries(rows)
    keys = [entry.key for entry in entries]
    reports = await asyncio.to_thread(_reports, ledger.engine, remote.resource.name, keys)
    own = [row for row in rows if row in decided or row in moved]
    return [*own, *reports] if decision.choice == CREATE else reports


async def bodies_to_send(
    ledger: PostgresLedger, rows: Sequence[int]
) -> Mapping[int, Mapping[str, Any]]:
    """Return the bodies of ledger rows; raise `InvalidDecision` if one was deleted."""
    bodies = await ledger.bodies(rows)
    if len(bodies) < len(rows):
        raise InvalidDecision(
            f"the data of a row is deleted: decide {GIVE_UP}, then drop the row again"
        )
    return bodies


def _transition(entry: Entry, decision: ReviewDecision, record: RecordIds | None) -> Transition:
    if record is not None:
        return decisions.adopt_candidate(entry, who=decision.who, record=record)
    step = decisions.retry_after_review if decision.choice == CREATE else decisions.give_up
    return step(entry, who=decision.who, run=decision.run)


async def _chosen(
    ledger: PostgresLedger, remote: ServiceRemote, rows: Sequence[int], remote_id: str
) -> RecordIds:
    """Return the chosen record of a row; raise `InvalidDecision` if it can't be the row's record."""
    if len(rows) > 1:
        raise InvalidDecision(
            f"a record belongs to one line: enter one line, or decide {CREATE} or {GIVE_UP}"
        )
    try:
        record = await remote.read(remote_id)
    except ValueError:
        record = None
    if record is None:
        raise InvalidDecision(
            f"the service has no such record; choose a candidate, {CREATE} or {GIVE_UP}"
        )
    made = remote.known(record)
    [entry] = await ledger.entries(rows)
    if made.remote_id in entry.candidates:
        return made
    bodies = await ledger.bodies(rows)
    if not bodies:
        raise InvalidDecision(f"the data of the row is deleted: choose a candidate or {GIVE_UP}")
    shown = msgspec.structs.asdict(record)
    if different := mismatch(remote.resource, remote.identity, bodies[entry.id], shown):
        raise InvalidDecision(
            "the record is not a candidate and has neither the key nor the name of the row; they"
            f" differ in {', '.join(different)}. Choose a candidate, or correct the id"
        )
    return made


def mismatch(
    resource: Resource, identity: Identity, body: Mapping[str, Any], record: Mapping[str, Any]
) -> Sequence[str]:
    """Return the identifying fields in which a body and a record differ; empty if a key or the name agrees.

    Pure.
    """
    keys = (
        (finder.digest(resource.name, body), finder.digest(resource.name, record))
        for finder in identity.keys
        if finder.trust != "never"
    )
    name = identity.comparison_fields["name"]
    if any(
        ours is not None and ours == theirs for ours, theirs in (*keys, (name(body), name(record)))
    ):
        return ()
    different = [each.name for each in compare(resource, body, SimpleNamespace(**record)).different]
    identifying = {
        field for each in (*identity.keys, *identity.possible_match_rules) for field in each.fields
    }
    return [field for field in different if field in identifying] or different or ["last_name"]


def _not_waiting(drop_id: int) -> str:
    return f"of drop {drop_id} is not waiting for a decision"


def _entries(
    engine: Engine, resource: str, keys: Collection[str]
) -> dict[str, Row[*tuple[Any, ...]]]:
    with engine.connect() as connection:
        found = connection.execute(
            select(creation).where(creation.c.resource == resource, among(creation.c.key, keys))
        )
        return {row.key: row for row in found}


def _decided(engine: Engine, rows: Collection[int], decision: ReviewDecision) -> set[int]:
    """Return the rows whose last decision is this decision."""
    of_rows = among(creation_event.c.creation_id, rows) & creation_event.c.what.startswith(
        "decided_"
    )
    last = select(func.max(creation_event.c.id)).where(of_rows)
    events = select(creation_event).where(
        creation_event.c.id.in_(last.group_by(creation_event.c.creation_id))
    )
    with engine.connect() as connection:
        return {row.creation_id for row in connection.execute(events) if _is(row, decision)}


def _is(event: Row[*tuple[Any, ...]], decision: ReviewDecision) -> bool:
    chosen = event.what == "decided_candidate"
    detail = event.detail.casefold() if chosen else event.detail
    return (event.who, event.what, detail) == (decision.who, *decision.event)


def _require_one_reason(chosen: Mapping[int, Row[*tuple[Any, ...]]]) -> None:
    """Raise `InvalidDecision` if lines wait for different reasons: some may have a record already."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for line, entry in chosen.items():
        if entry.state == State.REVIEW:
            reasons[entry.reason].append(str(line))
    if len(reasons) > 1:
        listed = "; ".join(f"{', '.join(lines)}: {reason}" for reason, lines in reasons.items())
        raise InvalidDecision(
            f"the lines wait for different reasons: enter the lines to create. {listed}"
        )


def _reports(engine: Engine, resource: str, keys: Collection[str]) -> list[int]:
    """Return the READY rows whose manager has one of these keys."""
    with engine.connect() as connection:
        return list(
            connection.scalars(
                select(creation.c.id)
                .where(creation.c.resource == resource)
                .where(among(creation.c.manager_key, keys), creation.c.state == "ready")
                .order_by(creation.c.id)
            )
        )
