"""Labels of states: word, tone and meaning. Pages never show the tone alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tone = Literal["good", "idle", "warn", "bad"]


@dataclass(frozen=True)
class StateLabel:
    """Word, tone and meaning of a state."""

    word: str
    tone: Tone
    meaning: str


STATES = {
    "fresh": StateLabel("Fresh", "good", "The last complete load is within the freshness target."),
    "complete": StateLabel("Complete", "good", "The load read everything and published it."),
    "applied": StateLabel("Applied", "good", "Every row of the drop has its final outcome."),
    "reconciled": StateLabel("Reconciled", "good", "The service and the warehouse agree."),
    "running": StateLabel("Running", "idle", "The step is running."),
    "open": StateLabel("Open", "idle", "The run is in progress or waits for an approval."),
    "repeated": StateLabel("Repeated", "idle", "The same content was dropped before."),
    "withdrawn": StateLabel("Withdrawn", "idle", "The dropped file could not be read."),
    "never": StateLabel("Never ran", "idle", "No load is recorded yet."),
    "not_checked": StateLabel("Not checked", "idle", "The self-audit could not compare this day."),
    "pending": StateLabel(
        "Pending", "warn", "Rows differ. The next load or audit confirms it or not."
    ),
    "waiting": StateLabel("Waiting", "warn", "The dropped file is still being written."),
    "not_applied": StateLabel(
        "Not applied", "warn", "Rows are unfinished, or the plan was rejected."
    ),
    "refused": StateLabel("Refused", "warn", "No row of the file may be used. See its report."),
    "late": StateLabel(
        "Late", "warn", "The last complete load is older than the freshness target."
    ),
    "partial": StateLabel("Partial", "warn", "Part of the work is unfinished."),
    "unstable": StateLabel(
        "Unstable",
        "warn",
        "The list changed while it was read. Rows were loaded, none marked missing.",
    ),
    "suspect": StateLabel("Held", "bad", "The load failed a check and is held for review."),
    "failed": StateLabel("Failed", "bad", "The last load failed. See its reason and the task log."),
    "not_reconciled": StateLabel("Differs", "bad", "The service and the warehouse differ."),
}
"""Labels of the states of flows, loads, drops and audited days, by their names in the warehouse."""
