"""Settling a chunk's doubts: one wait for all of its rows, one look, one verdict each."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bms_flows.creation import states
from bms_flows.creation.entry import Entry
from bms_flows.creation.evidence import Ambiguous, Known, NoTrace, Sought, Trace, Verdict, weigh
from bms_flows.creation.ledger import Claimed, Ledger, Step
from bms_flows.creation.remote import Remote
from bms_flows.creation.settings import Settings

LISTINGS = 2
"""Reads of the list in one look: items may shift between its pages, or miss from one answer."""


@dataclass(frozen=True)
class Look:
    """What the service showed, from `at` on."""

    at: datetime
    shown: Sequence[Known]

    def of_key(self) -> Mapping[str | None, Sequence[Known]]:
        """Return the records by all they may be found by; under None those that show no key."""
        found: dict[str | None, list[Known]] = defaultdict(list)
        for known in self.shown:
            for key in (known.key, *known.others):
                found[key].append(known)
        return found


async def look(ledger: Ledger, remote: Remote, bodies: Iterable[Mapping[str, Any]]) -> Look:
    """Read the lists in which these rows may show, twice; what either shows counts."""
    scopes = {remote.identity.scope_of(body) for body in bodies}
    at = await ledger.now()
    shown: dict[str, Known] = {}
    for _ in range(LISTINGS):
        shown.update({known.remote_id: known for known in await remote.shown(scopes)})
    return Look(at, list(shown.values()))


async def settle(
    ledger: Ledger,
    remote: Remote,
    settings: Settings,
    owner: str,
    rows: Mapping[int, tuple[Entry, Mapping[str, Any]]],
) -> None:
    """Look for the UNKNOWN `rows`, all of them due, and move each by what the look says."""
    seen = await look(ledger, remote, (body for _, body in rows.values()))
    by_key = seen.of_key()
    owners = await ledger.owners([known.remote_id for known in seen.shown])
    for number, (entry, body) in rows.items():
        finders = remote.identity.finders(body)
        finder = finders.get(entry.key)
        sought = Sought(
            key=entry.key,
            marks=remote.identity.mark(body),
            intended=(entry.first_intended_at or seen.at, seen.at),
            trust=finder.trust if finder else "never",
            others=frozenset() if remote.identity.alone else frozenset(finders),
        )
        claimed = {remote_id for remote_id, key in owners.items() if key != entry.key}
        near = [each for key in (*sought.keys, None) for each in by_key.get(key, ())]
        verdict = weigh(sought, near, claimed=claimed, skew=settings.skew)
        try:
            await ledger.change([number], _step(verdict, owner, seen.at, settings))
        except Claimed:
            # Another row took it since the owners were read.
            taken = Ambiguous(_ids(verdict), "claimed_by_another")
            await ledger.change([number], _step(taken, owner, seen.at, settings))


def _step(verdict: Verdict, owner: str, looked_at: datetime, settings: Settings) -> Step:
    match verdict:
        case Trace(known, evidence):
            return lambda entry, _: states.adopt(
                entry,
                owner=owner,
                remote_id=known.remote_id,
                number=known.number,
                standby=known.is_standby,
                evidence=evidence,
            )
        case Ambiguous(candidates, reason):
            return lambda entry, _: states.ask(
                entry, owner=owner, candidates=candidates, reason=reason
            )
        case NoTrace():
            return lambda entry, _: states.find_nothing(
                entry, owner=owner, looked_at=looked_at, settle=settings.settle
            )


def _ids(verdict: Verdict) -> tuple[str, ...]:
    return (verdict.known.remote_id,) if isinstance(verdict, Trace) else ()
