"""How a state is shown: a word, a sign and a tone; never the tone alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tone = Literal["good", "idle", "warn", "bad"]


@dataclass(frozen=True)
class Shown:
    """A state's word, its tone, and what it means to who reads it."""

    word: str
    tone: Tone
    meaning: str


STATES = {
    "fresh": Shown("Fresh", "good", "The last complete load is younger than promised."),
    "complete": Shown("Complete", "good", "Everything was read and stands in the warehouse."),
    "applied": Shown("Applied", "good", "Every row of the drop has reached its end."),
    "reconciled": Shown("Reconciled", "good", "Service and warehouse agree."),
    "running": Shown("Running", "idle", "It is at work."),
    "open": Shown("Open", "idle", "It is worked on, or waits for an answer."),
    "repeated": Shown("Repeated", "idle", "The same content was dropped before."),
    "withdrawn": Shown("Withdrawn", "idle", "The file was not there to be read."),
    "never": Shown("Never ran", "idle", "No load is on record, so nothing is owed yet."),
    "not_checked": Shown("Not checked", "idle", "The self-audit could not compare the day."),
    "pending": Shown("Pending", "warn", "Rows differ; the next load or audit decides."),
    "waiting": Shown("Waiting", "warn", "The file is not finished being written."),
    "not_applied": Shown("Not applied", "warn", "Rows wait, or the plan was not agreed to."),
    "late": Shown("Late", "warn", "The last complete load is older than promised."),
    "partial": Shown("Partial", "warn", "Not all rows have reached their end."),
    "unstable": Shown("Unstable", "warn", "Rows moved while the list was read: loaded, none gone."),
    "suspect": Shown("Suspect", "bad", "The load can't be believed and was kept back."),
    "failed": Shown("Failed", "bad", "The last load ended by an error."),
    "not_reconciled": Shown("Differs", "bad", "Service and warehouse don't agree."),
}
"""States of flows, loads, drops and audited days, by the names they have in the warehouse."""
