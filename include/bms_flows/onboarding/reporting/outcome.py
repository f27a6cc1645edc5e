"""How a row of a drop ended: what the reports and the receipt say of it."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bms_flows.onboarding.reading.sheet import Fault

State = Literal["created", "adopted", "already_there", "rejected", "needs_review", "waiting"]
"""Every row ends in exactly one of these."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A field in which the drop and the service differ, each as text."""

    field: str
    ours: str = dataclasses.field(repr=False)
    theirs: str = dataclasses.field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A record of the service that a person is to choose or to pass over, and what speaks for it."""

    guid: str
    id: int | None = None
    evidence: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A row's state and all that is known of it.

    `key` names the row to a person (a payroll number), `guid` and `id` the record in the service;
    `evidence` says why a record was adopted or found there already; `verified` and `unverifiable`
    are fields read back and fields the service never gives back.
    """

    line: int
    state: State
    key: str = dataclasses.field(default="", repr=False)
    guid: str | None = None
    id: int | None = None
    is_standby: bool | None = None
    evidence: str = ""
    verified: Sequence[str] = ()
    unverifiable: Sequence[str] = ()
    faults: Sequence[Fault] = ()
    candidates: Sequence[Candidate] = ()
    differences: Sequence[Difference] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return what the receipt holds of it: no value of a cell."""
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


def counts(outcomes: Sequence[Outcome]) -> Mapping[str, int]:
    """Return how many rows ended in each state, none left out."""
    states: tuple[State, ...] = (
        "created",
        "adopted",
        "already_there",
        "rejected",
        "needs_review",
        "waiting",
    )
    return {state: sum(outcome.state == state for outcome in outcomes) for state in states}


def all_present(ended: Mapping[str, int]) -> bool:
    """Return whether a drop had rows (`counts`), and each ended with its record in the service."""
    present = sum(ended[state] for state in ("created", "adopted", "already_there"))
    return 0 < present == sum(ended.values())
