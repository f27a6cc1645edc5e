"""What ledger and service say of the rows of a drop when a plan is made. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bms_flows.creation.entry import HERE, Entry, State
from bms_flows.creation.evidence import Known, same_marks
from bms_flows.creation.identity import Identity, fingerprint
from bms_flows.drops.sheet import Sheet

Marks = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class View:
    """What the ledger and the service say when a plan is made.

    `entries` by key; `open_marks` the marks of the ledger's unfinished rows, by key; `shown` all
    records of the entities concerned, `unknown_scopes` the entities that the service doesn't know;
    `records` details by remote id, for those `to_read` named.
    """

    entries: Mapping[str, Entry]
    open_marks: Mapping[str, Mapping[str, str | None]]
    shown: Sequence[Known]
    unknown_scopes: frozenset[Any] = frozenset()
    records: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def by_key(self) -> Mapping[str, Sequence[Known]]:
        """The records shown, by key."""
        found: dict[str, list[Known]] = defaultdict(list)
        for known in self.shown:
            if known.key is not None:
                found[known.key].append(known)
        return found

    @cached_property
    def by_marks(self) -> Mapping[Marks, Sequence[Known]]:
        """The records shown whose marks are all there, by these."""
        found: dict[Marks, list[Known]] = defaultdict(list)
        for known in self.shown:
            if same_marks(known.marks, known.marks):
                found[tuple(sorted(known.marks.items()))].append(known)
        return found

    def alike(self, key: str, marks: Mapping[str, str | None]) -> tuple[str, ...]:
        """Return remote ids of records with these marks under another key."""
        if not same_marks(marks, marks):
            return ()
        shown = self.by_marks.get(tuple(sorted(marks.items())), ())
        return tuple(sorted(known.remote_id for known in shown if known.key != key))

    def alike_underway(self, key: str, marks: Mapping[str, str | None]) -> bool:
        """Whether the ledger is at work on somebody with these marks under another key."""
        return any(k != key and same_marks(marks, m) for k, m in self.open_marks.items())


def keys_named(sheet: Sheet, identity: Identity) -> frozenset[str]:
    """Return the keys whose ledger rows the plan must see: those of the rows."""
    return frozenset(filter(None, (identity.key(row.values) for row in sheet.rows)))


def to_read(sheet: Sheet, identity: Identity, view: View) -> frozenset[str]:
    """Return the remote ids whose details the plan compares rows with."""
    wanted: set[str | None] = set()
    for row in sheet.rows:
        key = identity.key(row.values)
        if key is None or sheet.faults_of(row):
            continue
        entry = view.entries.get(key)
        if entry is None or entry.state in {State.REJECTED, State.GIVEN_UP}:
            wanted.update(known.remote_id for known in view.by_key.get(key, ())[:1])
        elif entry.state in HERE and entry.digest != fingerprint(row.values):
            wanted.add(entry.remote_id)
    return frozenset(each for each in wanted if each)
