"""Immutable plan of a drop: the action for each row. Pure.

The id of a plan is a hash of its inputs (file, ledger, records, rules) and its actions, so an approval
of the id approves exactly these actions.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.resources.body import Difference, body_digest
from bms_flows.onboarding.resources.evidence import ServiceRecord


class Action(StrEnum):
    """Action for a row."""

    CREATE = "create"
    RESUME = "resume"
    """The ledger has an unfinished row of an earlier drop or try."""
    ALREADY_THERE = "already_there"
    MANUAL_CHANGE = "manual_change"
    """The record exists with other data; the service has no update operation."""
    REJECTED = "rejected"
    REVIEW = "review"
    """A reviewer decides between the candidates."""


@dataclass(frozen=True, kw_only=True)
class PlannedRow:
    """One row of a plan; its repr shows no personal data."""

    line: int
    action: Action
    key: str | None = None
    digest: str = ""
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    manager_key: str | None = None
    faults: tuple[Fault, ...] = ()
    differences: tuple[Difference, ...] = ()
    candidates: tuple[str, ...] = ()
    reason: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    """Of the reason."""
    known: ServiceRecord | None = None

    @cached_property
    def sends(self) -> str:
        """Digest of the create request."""
        return body_digest({**self.body, "manager_key": self.manager_key})


def reject(row: PlannedRow, fault: Fault) -> PlannedRow:
    """Return the row as rejected for one more fault."""
    return replace(row, action=Action.REJECTED, faults=(*row.faults, fault), manager_key=None)


@dataclass(frozen=True)
class PlanInputs:
    """Digests of the inputs of a plan."""

    file: str
    ledger: str
    seen: str
    rules: str


@dataclass(frozen=True)
class Plan:
    """The actions for the rows of a drop."""

    resource: str
    bound: PlanInputs
    rows: tuple[PlannedRow, ...] = field(repr=False)
    headcount: int
    """Number of records in the service, within the scopes of the rows."""
    empty_scopes: int = 0
    """Number of these scopes whose lists have no record."""

    @cached_property
    def id(self) -> str:
        """The hash that an approver approves."""
        rows = [(row.line, row.action, row.key, row.sends, row.candidates) for row in self.rows]
        bound = self.bound
        return digest([self.resource, bound.file, bound.ledger, bound.seen, bound.rules, rows])

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of rows by action, zeros included."""
        counts = {action.value: 0 for action in Action}
        for row in self.rows:
            counts[row.action] += 1
        return counts

    @cached_property
    def creates(self) -> dict[str, str]:
        """Digests of the create requests by key; unfinished rows were approved earlier."""
        return {
            row.key: row.sends
            for row in self.rows
            if row.action is Action.CREATE and row.key is not None
        }

    def within(self, approved: Mapping[str, str]) -> bool:
        """Return whether the plan creates only rows and data of `approved`, the `creates` of another plan."""
        return self.creates.items() <= approved.items()


def digest(content: Any) -> str:
    """Return the SHA-256 of `content` in hexadecimal."""
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()
