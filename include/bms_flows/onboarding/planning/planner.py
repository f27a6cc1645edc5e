"""The planner: what will be done with each row of a drop, by the rules and by what is known. Pure."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bms_flows.onboarding.faults.rows import RowFault
from bms_flows.onboarding.ledger.entry import HERE, OPEN, Entry, State
from bms_flows.onboarding.planning.managers import Manager, Managers, Numbered, of_record, of_row
from bms_flows.onboarding.planning.matching import match, of_entry
from bms_flows.onboarding.planning.order import cyclic
from bms_flows.onboarding.planning.plan import Action, Bound, Plan, Planned, digest
from bms_flows.onboarding.planning.rules import Rules, validate
from bms_flows.onboarding.planning.view import View
from bms_flows.onboarding.reading.sheet import Fault, Row, Sheet
from bms_flows.onboarding.resources.body import build, compare
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.match_rules import Identity, fingerprint


def make(sheet: Sheet, resource: Resource, identity: Identity, rules: Rules, view: View) -> Plan:
    """Decide on every row of `sheet`; all errors of all rows are named."""
    planner = _Planner(resource, identity, rules, view)
    values = {row.line: row.values for row in sheet.rows}
    rows = [planner.check(row, sheet) for row in sheet.rows]
    rows = _without_doubles(rows)
    rows = [row if row.faults else planner.decide(row, values[row.line]) for row in rows]
    rows = planner.without_likes(rows, values)
    rows = planner.with_managers(rows, values)
    digests = {each for row in values.values() for each in identity.finders(row)}
    seen = _seen_digest(view, digests)
    bound = Bound(sheet.sha256, _ledger_digest(rows, view), seen, rules.version)
    return Plan(resource.name, bound, tuple(rows), view.headcount)


@dataclass(frozen=True)
class _Planner:
    resource: Resource
    identity: Identity
    rules: Rules
    view: View

    def check(self, row: Row, sheet: Sheet) -> Planned:
        """Hold a row against the rules."""
        faults = list(sheet.faults_of(row))
        unread = {fault.field for fault in faults}
        if None not in unread:
            # A cell that could not be read is not missing: one reason for one cell.
            faults += [each for each in validate(row, self.rules) if each.field not in unread]
        key = self.identity.key(row.values)
        if key is None and not faults:
            fields = ", ".join(self.resource.key)
            faults.append(RowFault("no_key", row.line, details={"fields": fields}))
        return Planned(
            line=row.line,
            action=Action.REJECTED if faults else Action.CREATE,
            key=key,
            digest=fingerprint(row.values),
            body={} if faults else build(self.resource, row.values),
            faults=tuple(faults),
        )

    def decide(self, row: Planned, values: Mapping[str, Any]) -> Planned:
        """Decide on a row without faults by what ledger and service know of it."""
        key = row.key or ""
        if self.identity.scope_of(values) in self.view.unknown_scopes:
            return _reject(row, RowFault("unknown_scope", row.line, field=self.identity.scope))
        entry = self.view.entries.get(key)
        if entry is not None:
            known_already = self._by_ledger(row, entry, values)
            if known_already is not None:
                return known_already
        decided = self._by_service(row, values)
        if decided.action is Action.CREATE and entry is not None:
            return self._unless_given_up(decided, entry)
        return decided

    def _by_service(self, row: Planned, values: Mapping[str, Any]) -> Planned:
        """Decide by the records of the service, and by what the lists may not show yet."""
        found = match(self.identity, self.view, values)
        if found.known is not None:
            return self._there(row, found.known)
        if found.reason is not None:
            action = Action.MANUAL_CHANGE if found.several else Action.REVIEW
            return replace(row, action=action, reason=found.reason, candidates=found.candidates)
        finders = self.identity.finders(values)
        other = self.view.underway(row.key or "", finders)
        if other is not None:
            return replace(row, action=Action.REVIEW, reason=finders[other].asks)
        return row

    def _unless_given_up(self, row: Planned, entry: Entry) -> Planned:
        """Let a person's word stand in its drop; dropped again, a person is asked again."""
        if entry.state is not State.GIVEN_UP or entry.digest != row.digest:
            return row
        if entry.drop_id == self.view.drop_id:
            return replace(row, action=Action.RESUME)
        return replace(row, action=Action.REVIEW, reason="given_up_before")

    def _by_ledger(self, row: Planned, entry: Entry, values: Mapping[str, Any]) -> Planned | None:
        """Decide by the row's own entry, or None where that one is as good as none."""
        same = entry.digest == row.digest
        if entry.state is State.REVIEW:
            candidates, reason = entry.candidates, entry.reason
            return replace(row, action=Action.REVIEW, reason=reason, candidates=candidates)
        if entry.state in OPEN and (same or not entry.unsent):
            # What was sent under this key is settled first, with the data it was sent with.
            reason = None if same else "other_data_underway"
            return replace(row, action=Action.RESUME, reason=reason)
        if entry.state not in HERE:
            return None
        known = of_entry(self.identity, self.view, values, entry)
        ours = known.remote_id == entry.remote_id and not known.deleted
        if same and ours and not self.resource.watched:
            return replace(row, action=Action.ALREADY_THERE, known=known, reason="by_us")
        return self._there(row, known)

    def _there(self, row: Planned, known: ServiceRecord) -> Planned:
        record = self.view.records.get(known.remote_id)
        if known.deleted or record is None:
            # Gone, or listed and not readable: what differs can't be told, a person looks.
            reason = "gone_there" if known.deleted else "not_readable"
            return replace(row, action=Action.MANUAL_CHANGE, known=known, reason=reason)
        different = compare(self.resource, row.body, record).different
        if not different:
            return replace(row, action=Action.ALREADY_THERE, known=known)
        return replace(
            row,
            action=Action.MANUAL_CHANGE,
            known=known,
            reason="other_data",
            differences=different,
        )

    def without_likes(
        self, rows: Sequence[Planned], values: Mapping[int, Mapping[str, Any]]
    ) -> list[Planned]:
        """Have a person asked about new rows that may be another row; refuse a record's second row."""
        new = [row for row in rows if row.action is Action.CREATE]
        named = {
            key
            for row in rows
            if row.action not in {Action.CREATE, Action.REJECTED}
            for key in self.identity.finders(values[row.line])
        }
        like: set[int] = set()
        for row in new:
            finders = self.identity.finders(values[row.line])
            if not named.isdisjoint(finders):
                like.add(row.line)
            named.update(finders)
        lines: dict[str, int] = {}
        kept: list[Planned] = []
        for row in rows:
            first = lines.setdefault(row.known.remote_id, row.line) if row.known else row.line
            if first != row.line:
                fault = RowFault("record_twice_in_file", row.line, details={"other_line": first})
                kept.append(_reject(row, fault))
            elif row.line in like:
                kept.append(replace(row, action=Action.REVIEW, reason="like_another_row"))
            else:
                kept.append(row)
        return kept

    def with_managers(
        self, rows: Sequence[Planned], values: Mapping[int, Mapping[str, Any]]
    ) -> list[Planned]:
        """Put each new row's manager into its body, or the key of the row that goes before it."""
        managers = Managers(
            [
                *map(of_record, self.view.shown),
                *(of_row(values[row.line], row.key) for row in rows if row.key),
            ]
        )
        placed = [
            self._with_manager(row, managers.of(row.line, values[row.line]))
            if row.action in {Action.CREATE, Action.REVIEW}
            else row
            for row in rows
        ]
        cycle = cyclic({r.key: r.manager_key for r in placed if r.key and r.manager_key})
        placed = [
            _reject(row, RowFault("manager_cycle", row.line))
            if row.key in cycle and row.manager_key
            else row
            for row in placed
        ]
        return _without_orphans(placed)

    def _with_manager(self, row: Planned, manager: Manager | Fault | None) -> Planned:
        match manager:
            case None:
                return row
            case Fault():
                return _reject(row, manager)
            case Numbered(number):
                return replace(row, body={**row.body, "id_manager": number})
        return replace(row, manager_key=manager.key)


def _without_doubles(rows: Sequence[Planned]) -> list[Planned]:
    """Keep the first of equal rows; of rows with one key and other data keep none."""
    by_key: dict[str, list[Planned]] = defaultdict(list)
    for row in rows:
        if row.key is not None and not row.faults:
            by_key[row.key].append(row)
    faults: dict[int, Fault] = {}
    for first, *others in by_key.values():
        equal = all(other.digest == first.digest for other in others)
        code = "twice_in_file" if equal else "key_twice_in_file"
        for other in others:
            faults[other.line] = RowFault(code, other.line, details={"other_line": first.line})
        if not equal:
            other_line = others[0].line
            faults[first.line] = RowFault(code, first.line, details={"other_line": other_line})
    return [_reject(row, faults[row.line]) if row.line in faults else row for row in rows]


def _without_orphans(rows: Sequence[Planned]) -> list[Planned]:
    """Reject, down every line of reports, who reports to a row of the file that is rejected."""
    rejected = {row.key for row in rows if row.action is Action.REJECTED and row.key is not None}
    # Of two rows with one key the second is rejected and the first still comes.
    rejected -= {row.key for row in rows if row.action is not Action.REJECTED}
    placed = list(rows)
    while True:
        orphans = {
            row.line
            for row in placed
            if row.action is not Action.REJECTED and row.manager_key and row.manager_key in rejected
        }
        if not orphans:
            return placed
        placed = [
            _reject(row, RowFault("manager_rejected", row.line)) if row.line in orphans else row
            for row in placed
        ]
        rejected |= {row.key for row in placed if row.line in orphans and row.key is not None}


def _reject(row: Planned, fault: Fault) -> Planned:
    return replace(row, action=Action.REJECTED, faults=(*row.faults, fault), manager_key=None)


def _ledger_digest(rows: Sequence[Planned], view: View) -> str:
    found = (view.entries.get(row.key or "") for row in rows)
    return digest(
        sorted((e.key, e.state, e.attempt, e.digest, e.remote_id or "") for e in found if e)
    )


def _seen_digest(view: View, digests: Collection[str]) -> str:
    """Return the digest of the records that may be one of the rows'."""
    near = {known.remote_id: known for each in digests for known in view.by_key.get(each, ())}
    return digest(sorted((k.remote_id, k.fingerprint, k.deleted, k.number) for k in near.values()))
