"""What ledger and service say of the rows of a drop when a plan is made. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bms_flows.creation.entry import Entry
from bms_flows.creation.evidence import Known
from bms_flows.creation.identity import Identity
from bms_flows.drops.sheet import Sheet


@dataclass(frozen=True)
class View:
    """What the ledger and the service say when a plan is made.

    `entries` by key; `open_keys` what the ledger's unfinished rows may be found by, by their key;
    `shown` all records of the parts concerned, `unknown_scopes` the parts that the service doesn't
    know; `records` details by remote id, for those `to_read` named; `matched` the remote ids that
    keys were found to be before.
    """

    entries: Mapping[str, Entry]
    open_keys: Mapping[str, Collection[str]]
    shown: Sequence[Known]
    unknown_scopes: frozenset[Any] = frozenset()
    records: Mapping[str, Any] = field(default_factory=dict)
    matched: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def by_key(self) -> Mapping[str, Sequence[Known]]:
        """The records shown, by all they may be found by."""
        found: dict[str, list[Known]] = defaultdict(list)
        for known in self.shown:
            for key in (known.key, *known.others):
                if key is not None:
                    found[key].append(known)
        return found

    @cached_property
    def by_id(self) -> Mapping[str, Known]:
        """The records shown, by remote id."""
        return {known.remote_id: known for known in self.shown}

    def matched_to(self, key: str) -> Known | None:
        """Return the record that `key` was found to be before; without marks if it is not shown."""
        remote_id = self.matched.get(key)
        if remote_id is None:
            return None
        return self.by_id.get(remote_id) or Known(remote_id=remote_id, deleted=True)

    def underway(self, key: str, others: Iterable[str]) -> str | None:
        """Return what of `others` the ledger is at work on under another key."""
        at_work = {each for k, keys in self.open_keys.items() if k != key for each in keys}
        return next((other for other in others if other in at_work), None)


def keys_named(sheet: Sheet, identity: Identity) -> frozenset[str]:
    """Return the keys whose ledger rows the plan must see: those of the rows."""
    return frozenset(filter(None, (identity.key(row.values) for row in sheet.rows)))


def finders_named(sheet: Sheet, identity: Identity) -> frozenset[str]:
    """Return all that the rows of a sheet may be found by."""
    return frozenset(key for row in sheet.rows for key in identity.finders(row.values))
