"""Planner: the action for each row of a drop, from the rules, the ledger and the service. Pure."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.ledger.entry import EXISTING, OPEN, Entry, State
from bms_flows.onboarding.planning.managers import (
    Managers,
    candidate_of_record,
    candidate_of_row,
    in_review,
    reject_by_hierarchy,
)
from bms_flows.onboarding.planning.matching import (
    NOTHING,
    Finders,
    PlanningView,
    finders_of,
    match,
    match_keys_of,
    namesakes,
    record_of_entry,
)
from bms_flows.onboarding.planning.plan import (
    Action,
    Plan,
    PlanInputs,
    PlannedRow,
    reject,
    reject_duplicates,
)
from bms_flows.onboarding.planning.rules import CODE_NOT_IN_USE, NewCode, Rules, new_codes, validate
from bms_flows.onboarding.reading.sheet import Row, Sheet
from bms_flows.onboarding.resources.body import body_digest, build, compare, unread_changes
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.evidence import ServiceRecord, contradicted
from bms_flows.onboarding.resources.match_rules import Identity, similar_rows

CHANGED_UNSEEN: Final = "changed_unseen"


def make(
    sheet: Sheet, resource: Resource, identity: Identity, rules: Rules, view: PlanningView
) -> Plan:
    """Return the plan for `sheet`; rows with faults list every fault."""
    finders = finders_of(sheet, identity)
    planner = _Planner(resource, identity, rules, view, finders)
    values = {row.line: row.values for row in sheet.rows}
    rows = [planner.check(row, sheet) for row in sheet.rows]
    rows = reject_duplicates(rows)
    rows = [planner.decide(row, values[row.line]) for row in rows]
    rows = planner.review_similar_rows(rows)
    rows = planner.assign_managers(rows, values)
    inputs = PlanInputs.of(sheet, rows, view, match_keys_of(sheet, identity), rules.version)
    return Plan(resource.name, inputs, tuple(rows), view.headcount, view.empty_scopes)


@dataclass(frozen=True)
class _Planner:
    """The decisions on rows, with their common inputs."""

    resource: Resource
    identity: Identity
    rules: Rules
    view: PlanningView
    finders: Mapping[int, Finders]
    """The match rules of each row, by line."""

    def check(self, row: Row, sheet: Sheet) -> PlannedRow:
        """Validate a row; a fault of the file hides no fault of the row."""
        own = [*sheet.own_faults(row)]
        unread = {fault.field for fault in own}
        whole = None not in unread and all(each.code != "no_header" for each in sheet.file_faults)
        if whole:
            # An unreadable cell is not reported as missing too.
            found = [*validate(row, self.rules), *self._miswritten_codes(row)]
            own += [each for each in found if each.field not in unread]
        faults = [*sheet.repeated_faults, *own]
        key = self.identity.key(row.values)
        if key is None and whole and self._key_fields.isdisjoint({each.field for each in own}):
            labels = ((self.resource.by_name[name].label, name) for name in self.resource.key)
            fields = ", ".join(f"{label} [{name}]" for label, name in labels)
            faults.append(Fault("no_key", row.line, details={"fields": fields}))
        return PlannedRow(
            line=row.line,
            action=Action.REJECTED if faults else Action.CREATE,
            key=key,
            digest=body_digest(row.values),
            body={} if faults else build(self.resource, row.values),
            faults=tuple(faults),
        )

    @cached_property
    def _key_fields(self) -> AbstractSet[str]:
        return {field for rule in self.identity.keys for field in rule.fields}

    def _miswritten_codes(self, row: Row) -> list[Fault]:
        """Return a fault for each code that mirrored records have in another form."""
        return [
            Fault("code_written_otherwise", row.line, field=name, details={"nearest": found.same})
            for name, found in self._new_codes(row.values).items()
            if found.same
        ]

    def _new_codes(self, values: Mapping[str, Any]) -> Mapping[str, NewCode]:
        known = {k: each for k, each in self.view.codes.items() if k not in self.rules.codes}
        return new_codes(values, known)

    def decide(self, row: PlannedRow, values: Mapping[str, Any]) -> PlannedRow:
        """Decide on a row by the ledger and the service; a code that no record has goes to review."""
        if self.identity.scope_of(values) in self.view.unknown_scopes:
            return reject(row, Fault("unknown_scope", row.line, field=self.identity.scope))
        if row.faults:
            return row
        decided = self._decide(row, values)
        new = self._new_codes(values)
        if new and (decided.action is Action.CREATE or decided.reason == CODE_NOT_IN_USE):
            near = (
                f"{self.resource.by_name[name].label} → {each.near}" for name, each in new.items()
            )
            details = {"nearest": f" ({'; '.join(near)})"}
            return replace(decided, action=Action.REVIEW, reason=CODE_NOT_IN_USE, details=details)
        return decided

    def _decide(self, row: PlannedRow, values: Mapping[str, Any]) -> PlannedRow:
        key = row.key or ""
        entry = self.view.entries.get(key)
        if entry is not None:
            by_ledger = self._by_ledger(row, entry, values)
            if by_ledger is not None:
                return by_ledger
        decided = self._by_service(row, values)
        if decided.action is Action.CREATE and entry is not None:
            return self._unless_given_up(decided, entry)
        return decided

    def _by_service(self, row: PlannedRow, values: Mapping[str, Any]) -> PlannedRow:
        """Decide by the records of the service and by in-flight rows."""
        finders = self.finders[row.line]
        found = match(self.identity, self.view, values, finders)
        if found is NOTHING:
            found = namesakes(self.identity, self.view.by_name, values)
        if found.known is not None:
            return self._existing(row, found.known)
        if found.reason is not None:
            action = Action.MANUAL_CHANGE if found.several else Action.REVIEW
            return replace(row, action=action, reason=found.reason, candidates=found.candidates)
        marks = self.identity.name_marks(values)
        like = self.view.like_in_flight(row.key or "", finders, marks)
        return row if like is None else replace(row, action=Action.REVIEW, reason=like)

    def _unless_given_up(self, row: PlannedRow, entry: Entry) -> PlannedRow:
        """Keep a "give up" decision within its drop; a row of another drop goes to review again."""
        if entry.state is not State.GIVEN_UP or entry.digest != row.digest:
            return row
        if entry.drop_id == self.view.drop_id:
            return replace(row, action=Action.RESUME)
        return replace(row, action=Action.REVIEW, reason="given_up_before")

    def _by_ledger(
        self, row: PlannedRow, entry: Entry, values: Mapping[str, Any]
    ) -> PlannedRow | None:
        """Decide by the row's ledger entry; return None if the entry does not decide."""
        same = entry.digest == row.digest
        if entry.state is State.REVIEW:
            candidates, reason = entry.candidates, entry.reason
            return replace(row, action=Action.REVIEW, reason=reason, candidates=candidates)
        if entry.state in OPEN and (same or not entry.unsent):
            # A row that was sent is settled first, with the data that was sent.
            reason = None if same else "in_flight_other_data"
            return replace(row, action=Action.RESUME, reason=reason)
        if entry.state not in EXISTING:
            return None
        known = record_of_entry(self.identity, self.view, values, self.finders[row.line], entry)
        ours = known.remote_id == entry.remote_id and not known.deleted
        if same and ours and not self.resource.always_compared:
            return replace(row, action=Action.ALREADY_THERE, known=known, reason="by_us")
        read_back = self.view.read_back.get(entry.id)
        otherwise = read_back if same and ours and entry.made else None
        decided = self._existing(row, known, *(otherwise or ()))
        seen = read_back is not None or known.remote_id in self.view.by_id
        if known.deleted and not seen and entry.state is State.CREATED:
            decided = replace(decided, reason="created_not_found")
        if decided.action is Action.ALREADY_THERE and ours and not same:
            # What the service returns is equal, so another field may have changed.
            return replace(decided, action=Action.MANUAL_CHANGE, reason=CHANGED_UNSEEN)
        return decided

    def _existing(self, row: PlannedRow, known: ServiceRecord, *otherwise: str) -> PlannedRow:
        """Compare a row with its existing record, but for fields that the service stores `otherwise`."""
        record = self.view.records.get(known.remote_id)
        if known.deleted or record is None:
            reason = "record_deleted" if known.deleted else "not_readable"
            return replace(row, action=Action.MANUAL_CHANGE, known=known, reason=reason)
        different = compare(self.resource, row.body, record).different
        if not contradicted(self.identity.comparison_digests(row.body), known.comparison_fields):
            different = tuple(each for each in different if each.name not in otherwise)
        if not different:
            evidence = "by_us" if otherwise else None
            return replace(row, action=Action.ALREADY_THERE, known=known, reason=evidence)
        return replace(
            row,
            action=Action.MANUAL_CHANGE,
            known=known,
            reason="other_data",
            differences=different,
        )

    def review_similar_rows(self, rows: Sequence[PlannedRow]) -> list[PlannedRow]:
        """Send new rows that may be another row to review; reject the second row of a record."""
        new = [row for row in rows if row.action is Action.CREATE]
        decided = [row for row in rows if row.action not in {Action.CREATE, Action.REJECTED}]
        named = {key: row.line for row in reversed(decided) for key in self.finders[row.line]}
        like = similar_rows(self.identity, {row.line: row.body for row in (*decided, *new)})
        for row in new:
            for key in self.finders[row.line]:
                if (first := named.setdefault(key, row.line)) != row.line:
                    like[row.line] = first
        lines: dict[str, int] = {}
        kept, code = list[PlannedRow](), "like_another_row"
        for row in rows:
            first = lines.setdefault(row.known.remote_id, row.line) if row.known else row.line
            if first != row.line:
                fault = Fault("record_twice_in_file", row.line, details={"other_line": first})
                kept.append(reject(row, fault))
            elif row.line in like and (row.action is Action.CREATE or row.reason == code):
                details = {"nearest": f" (l. {like[row.line]})"}
                kept.append(replace(row, action=Action.REVIEW, reason=code, details=details))
            else:
                kept.append(row)
        return kept

    def assign_managers(
        self, rows: Sequence[PlannedRow], values: Mapping[int, Mapping[str, Any]]
    ) -> list[PlannedRow]:
        """Set each new row's manager: `id_manager` in the body, or the key of the manager's row.

        Rejects rows whose manager is unknown, in a cycle, or rejected.
        """
        managers = Managers(
            [
                *map(candidate_of_record, self.view.shown),
                *(
                    candidate_of_row(
                        values[row.line],
                        row.key,
                        row.known,
                        # Under review for its address only, a row may be another owner of it.
                        creates=row.action is Action.CREATE
                        or row.reason == "same_email_other_name",
                    )
                    for row in rows
                    if row.key
                ),
            ]
        )
        placed = [
            self._with_manager(row, values[row.line], managers)
            if row.action in {Action.CREATE, Action.REVIEW, Action.REJECTED}
            and not in_review(row, self.view.entries)
            else self._with_unseen(row, values[row.line], managers)
            if row.reason == CHANGED_UNSEEN
            else row
            for row in rows
        ]
        return reject_by_hierarchy(placed, self.view.entries)

    def _with_manager(
        self, row: PlannedRow, values: Mapping[str, Any], managers: Managers
    ) -> PlannedRow:
        match manager := managers.of(row.line, values):
            case None:
                return row
            case Fault():
                return reject(row, manager)
            case _ if row.faults:
                return row
            case int():
                return replace(row, body={**row.body, "id_manager": manager})
        return replace(row, manager_key=manager)

    def _with_unseen(
        self, row: PlannedRow, values: Mapping[str, Any], managers: Managers
    ) -> PlannedRow:
        """Name the fields that may have changed since the creation; without any, the row is already there."""
        entry = self.view.entries[row.key or ""]
        before = self.view.sent.get(entry.id) if entry.made else None
        changed = unread_changes(self.resource, values, row.body, before)
        record = self.view.records.get(row.known.remote_id) if row.known else None
        if managers.of(row.line, values) == (getattr(record, "id_manager", None) or 0):
            changed = [each for each in changed if each.path]
        if not changed:
            return replace(row, action=Action.ALREADY_THERE, reason=None)
        return replace(row, details={"fields": ", ".join(each.label for each in changed)})
