"""Inputs of the planner: what the ledger and the service contain for the rows of a drop. Pure."""

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
class PlanningView:
    """The ledger and the service at planning time."""

    entries: Mapping[str, Entry]
    """Ledger rows of the drop's rows and of all managers above them, by key."""
    in_flight: Mapping[str, Collection[str]]
    """Match keys of rows that the lists may not show yet, by row key: unfinished rows, and records
    created after `since`."""
    shown: Sequence[ServiceRecord]
    """Records that may match a row."""
    unknown_scopes: frozenset[Any] = frozenset()
    """Scopes that rows name and that the service does not have."""
    records: Mapping[str, Any] = field(default_factory=dict)
    """Details by remote id, for the ids that `records_to_read` returned."""
    matched: Mapping[str, str] = field(default_factory=dict)
    """Remote ids by match key, from earlier drops."""
    since: datetime = EVER
    drop_id: int | None = None
    headcount: int = 0
    """Number of records in the scopes that the rows name."""
    empty_scopes: int = 0
    """Number of these scopes without a record."""
    contains: Callable[[str], bool] = lambda _: False
    """Returns whether a list contains a remote id."""

    @cached_property
    def by_key(self) -> Mapping[str, Sequence[ServiceRecord]]:
        """The shown records by match key."""
        found: dict[str, list[ServiceRecord]] = defaultdict(list)
        for known in self.shown:
            for key in (known.key, *known.other_digests):
                if key is not None:
                    found[key].append(known)
        return found

    @cached_property
    def by_id(self) -> Mapping[str, ServiceRecord]:
        """The shown records by remote id."""
        return {known.remote_id: known for known in self.shown}

    @cached_property
    def _rows_in_flight(self) -> Mapping[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for key, match_keys in self.in_flight.items():
            for each in match_keys:
                found[each].add(key)
        return found

    def matched_record(self, key: str) -> ServiceRecord | None:
        """Return the record that an earlier drop matched `key` to; a record outside `shown` has no fields."""
        remote_id = self.matched.get(key)
        if remote_id is None:
            return None
        deleted = not self.contains(remote_id)
        return self.by_id.get(remote_id) or ServiceRecord(remote_id=remote_id, deleted=deleted)

    @property
    def matched_ids(self) -> Collection[str]:
        """Remote ids that the ledger or an earlier drop matched to the rows."""
        return {*self.matched.values(), *(e.remote_id or "" for e in self.entries.values())}

    def is_listed(self, remote_id: str) -> bool:
        """Return whether a list contains the record."""
        return remote_id in self.by_id or self.contains(remote_id)

    def shared_in_flight(self, key: str, match_keys: Iterable[str]) -> str | None:
        """Return the first of `match_keys` that an in-flight row with another key has too."""
        rows = self._rows_in_flight
        return next((each for each in match_keys if rows.get(each, set()) - {key}), None)

    def is_outdated(
        self, in_flight: Mapping[str, Collection[str]], match_keys: Collection[str]
    ) -> bool:
        """Return whether later `in_flight` rows share one of `match_keys` that this view lacks."""
        return any(
            each in match_keys and each not in self.in_flight.get(key, ())
            for key, found in in_flight.items()
            for each in found
        )


def keys_of(sheet: Sheet, identity: Identity) -> frozenset[str]:
    """Return the natural keys of the rows."""
    return frozenset(filter(None, (identity.key(row.values) for row in sheet.rows)))


def match_keys_of(sheet: Sheet, identity: Identity) -> frozenset[str]:
    """Return the match keys of the rows: everything by which their records may be found."""
    return frozenset(key for row in sheet.rows for key in identity.rules_by_digest(row.values))
