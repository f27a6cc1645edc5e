"""What ledger and service say of the rows of a drop when a plan is made. Pure."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from bms_flows.onboarding.ledger.entry import Entry
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.evidence import ServiceRecord
from bms_flows.onboarding.resources.match_rules import Identity

EVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class View:
    """What the ledger and the service say when a plan is made.

    `entries` by key; `open_keys` what rows may be found by that the lists may not show (unfinished
    ones, and records made after `since`), by their key; `shown` the records that may concern a row,
    `headcount` how many there are in the parts that the rows name, `contains` tells of any id whether
    a list shows it; `unknown_scopes` the parts that the service doesn't know; `records` details by
    remote id, for those `to_read` named; `matched` the remote ids that keys were found to be before;
    `drop_id` the drop that is planned.
    """

    entries: Mapping[str, Entry]
    open_keys: Mapping[str, Collection[str]]
    shown: Sequence[ServiceRecord]
    unknown_scopes: frozenset[Any] = frozenset()
    records: Mapping[str, Any] = field(default_factory=dict)
    matched: Mapping[str, str] = field(default_factory=dict)
    since: datetime = EVER
    drop_id: int | None = None
    headcount: int = 0
    contains: Callable[[str], bool] = lambda _: False

    @cached_property
    def by_key(self) -> Mapping[str, Sequence[ServiceRecord]]:
        """The records shown, by all they may be found by."""
        found: dict[str, list[ServiceRecord]] = defaultdict(list)
        for known in self.shown:
            for key in (known.key, *known.others):
                if key is not None:
                    found[key].append(known)
        return found

    @cached_property
    def by_id(self) -> Mapping[str, ServiceRecord]:
        """The records shown, by remote id."""
        return {known.remote_id: known for known in self.shown}

    @cached_property
    def _open_rows(self) -> Mapping[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for key, finders in self.open_keys.items():
            for each in finders:
                found[each].add(key)
        return found

    def matched_to(self, key: str) -> ServiceRecord | None:
        """Return the record that `key` was found to be before; without marks if it is not shown."""
        remote_id = self.matched.get(key)
        if remote_id is None:
            return None
        gone = not self.contains(remote_id)
        return self.by_id.get(remote_id) or ServiceRecord(remote_id=remote_id, deleted=gone)

    @property
    def concerned_ids(self) -> Collection[str]:
        """The records that the rows are known to be, by the ledger or an earlier match."""
        return {*self.matched.values(), *(e.remote_id or "" for e in self.entries.values())}

    def lists(self, remote_id: str) -> bool:
        """Whether a list shows a record."""
        return remote_id in self.by_id or self.contains(remote_id)

    def underway(self, key: str, others: Iterable[str]) -> str | None:
        """Return what of `others` is another key's row's too that the lists may not show."""
        return next((other for other in others if self._open_rows.get(other, set()) - {key}), None)

    def lacks(self, open_keys: Mapping[str, Collection[str]], named: Collection[str]) -> bool:
        """Whether rows have come to the later `open_keys` that are found by what is `named`."""
        return any(
            each in named and each not in self.open_keys.get(key, ())
            for key, finders in open_keys.items()
            for each in finders
        )


def keys_named(sheet: Sheet, identity: Identity) -> frozenset[str]:
    """Return the keys whose ledger rows the plan must see: those of the rows."""
    return frozenset(filter(None, (identity.key(row.values) for row in sheet.rows)))


def finders_named(sheet: Sheet, identity: Identity) -> frozenset[str]:
    """Return all that the rows of a sheet may be found by."""
    return frozenset(key for row in sheet.rows for key in identity.finders(row.values))
