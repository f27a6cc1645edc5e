"""Rejection of rows by the hierarchy of managers, in the file and in the ledger. Pure."""

from collections.abc import Mapping, Sequence

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.ledger.entry import EXISTING, UNSENT, Entry, State
from bms_flows.onboarding.planning.order import cyclic, reports
from bms_flows.onboarding.planning.plan import Action, PlannedRow, reject


def in_review(row: PlannedRow, entries: Mapping[str, Entry]) -> bool:
    """Return whether the ledger's row is in review: the ledger keeps its data and manager."""
    entry = entries.get(row.key or "")
    return entry is not None and entry.state is State.REVIEW


def reject_by_hierarchy(
    rows: Sequence[PlannedRow], entries: Mapping[str, Entry]
) -> list[PlannedRow]:
    """Reject rows on a cycle of managers, and rows that report, directly or not, to a rejected row.

    `entries` are the ledger's rows of the file and of all managers above them. An unfinished row of an
    earlier drop keeps its manager in the ledger, so such rows may be a part of a cycle.
    """
    above = _managers_once_entered(rows, entries)
    own = {row.key for row in rows if not in_review(row, entries)}
    cycles = dict.fromkeys(cyclic(above), "manager_cycle_unfinished")
    in_file = {key: manager for key, manager in above.items() if key in own}
    cycles |= dict.fromkeys(cyclic(in_file), "manager_cycle")
    kept = [
        reject(row, Fault(cycles[row.key], row.line))
        if row.key in cycles and _may_wait(row, entries)
        else row
        for row in rows
    ]
    rejected = {row.key for row in kept if row.action is Action.REJECTED}
    # A rejected duplicate does not reject the reports of the accepted row.
    rejected -= {row.key for row in kept if row.action is not Action.REJECTED}
    below = reports(filter(None, rejected), above)
    return [
        reject(row, Fault("manager_rejected", row.line))
        if row.key in below and _may_wait(row, entries)
        else row
        for row in kept
    ]


def _managers_once_entered(
    rows: Sequence[PlannedRow], entries: Mapping[str, Entry]
) -> dict[str, str]:
    """Return the managers of unsent rows by key, as the ledger has them once `rows` are entered.

    A manager that exists in the service is left out: no row waits for it.
    """
    existing = {key for key, entry in entries.items() if entry.state in EXISTING}
    above = {key: e.manager_key for key, e in entries.items() if e.state in UNSENT}
    for row in rows:
        if row.action in {Action.CREATE, Action.REVIEW} and not in_review(row, entries):
            above[row.key or ""] = row.manager_key
    return {key: manager for key, manager in above.items() if manager and manager not in existing}


def _may_wait(row: PlannedRow, entries: Mapping[str, Entry]) -> bool:
    """Return whether a row may wait for its manager; a row in review waits for a reviewer."""
    waits = row.action in {Action.CREATE, Action.REVIEW, Action.RESUME}
    return waits and not in_review(row, entries)
