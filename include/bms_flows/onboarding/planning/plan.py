"""The plan of a drop: what will be done with each of its rows, decided before anything is sent. Pure.

A plan is immutable and its id is a hash over what it was made from (file, ledger, records seen,
rules) and what it would do: whoever approves an id approves exactly that.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from bms_flows.onboarding.reading.sheet import Fault
from bms_flows.onboarding.resources.body import Difference
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.match_rules import fingerprint


class Action(StrEnum):
    """What becomes of a row."""

    CREATE = "create"
    RESUME = "resume"
    """The ledger has it unfinished, from an earlier drop or try."""
    ALREADY_THERE = "already_there"
    MANUAL_CHANGE = "manual_change"
    """There under its key with other data, which no operation of the service changes."""
    REJECTED = "rejected"
    REVIEW = "review"
    """A person decides: candidates are named."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One row of a plan; what is personal in it is not shown."""

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
    known: ServiceRecord | None = None

    @cached_property
    def sends(self) -> str:
        """Digest of what would be sent."""
        return fingerprint({**self.body, "manager_key": self.manager_key})


@dataclass(frozen=True)
class Bound:
    """What a plan was made from, as digests."""

    file: str
    ledger: str
    seen: str
    rules: str


@dataclass(frozen=True)
class Plan:
    """What will be done with each row of a drop."""

    resource: str
    bound: Bound
    rows: tuple[Planned, ...] = field(repr=False)
    headcount: int
    """Records the service showed."""

    @cached_property
    def id(self) -> str:
        """The hash a person approves."""
        rows = [(row.line, row.action, row.key, row.sends, row.candidates) for row in self.rows]
        bound = self.bound
        return digest([self.resource, bound.file, bound.ledger, bound.seen, bound.rules, rows])

    @cached_property
    def counts(self) -> dict[str, int]:
        """Rows by action, each action named."""
        counts = {action.value: 0 for action in Action}
        for row in self.rows:
            counts[row.action] += 1
        return counts

    @cached_property
    def creates(self) -> dict[str, str]:
        """What would be sent, as digests by key; unfinished rows were approved when they were new."""
        return {
            row.key: row.sends
            for row in self.rows
            if row.action is Action.CREATE and row.key is not None
        }

    def within(self, approved: Mapping[str, str]) -> bool:
        """Whether no more rows and no other data would be created than `approved` (`creates`)."""
        return self.creates.items() <= approved.items()


def digest(content: Any) -> str:
    """Return the hash of what a plan is bound to, SHA-256 in hexadecimal."""
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()
