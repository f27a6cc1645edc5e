"""Outcome of a row, as reports and receipt contain it."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.match_rules import Identity

OutcomeState = Literal["created", "adopted", "already_there", "rejected", "needs_review", "waiting"]
"""Every row has exactly one of these states."""


@dataclass(frozen=True, kw_only=True)
class FieldDifference:
    """A field in which the drop and the service differ, with both values as text."""

    field: str
    ours: str = dataclasses.field(repr=False)
    theirs: str = dataclasses.field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A record of the service that a reviewer may choose, with the code of the match."""

    guid: str
    id: int | None = None
    evidence: str = ""


@dataclass(frozen=True, kw_only=True)
class RowOutcome:
    """The state of a row, with its record and its faults.

    `key` identifies the row for HR users (payroll number), `guid` and `id` the record in the service;
    `evidence` has codes why the record was adopted or already existed; `verified` fields were read
    back equal, `unverifiable` fields are never returned by the service.
    """

    line: int
    state: OutcomeState
    key: str = dataclasses.field(default="", repr=False)
    guid: str | None = None
    id: int | None = None
    is_standby: bool | None = None
    evidence: str = ""
    verified: Sequence[str] = ()
    unverifiable: Sequence[str] = ()
    faults: Sequence[Fault] = ()
    candidates: Sequence[Candidate] = ()
    differences: Sequence[FieldDifference] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the row of the receipt, without cell values."""
        return {
            "line": self.line,
            "state": self.state,
            "guid": self.guid,
            "id": self.id,
            "is_standby": self.is_standby,
            "evidence": self.evidence,
            "verified": list(self.verified),
            "unverifiable": list(self.unverifiable),
            "faults": [{"code": fault.code, "field": fault.field} for fault in self.faults],
            "differences": [difference.field for difference in self.differences],
        }


def counts(outcomes: Sequence[RowOutcome]) -> Mapping[str, int]:
    """Return the number of rows by state, zeros included."""
    states = get_args(OutcomeState)
    return {state: sum(outcome.state == state for outcome in outcomes) for state in states}


def matched_ids(identity: Identity, sheet: Sheet, outcomes: Sequence[RowOutcome]) -> dict[str, str]:
    """Return the remote id of each row that has a record, by its trusted match keys. Pure."""
    if identity.always_trusted:
        return {}
    values = {row.line: row.values for row in sheet.rows}
    return {
        key: outcome.guid
        for outcome in outcomes
        if outcome.guid
        for key, rule in identity.rules_by_digest(values[outcome.line]).items()
        if rule.trust != "never"
    }
