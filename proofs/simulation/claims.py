"""Claims of drops in memory: the rules of `bms_flows.onboarding.inbox.claim`, in virtual time.

A test compares both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from bms_flows.onboarding.inbox.claim import ENDED, LIFE, Drop, Ending, dag_run_id_of
from bms_flows.onboarding.inbox.closing import all_present
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_warehouse.locks import Busy, LeaseLost
from proofs.simulation.clock import EPOCH


@dataclass
class MemoryClaims:
    """Rows of `bms.dropped_file`, by number, and when each one's lease runs out."""

    now: datetime = EPOCH
    rows: dict[int, Drop] = field(default_factory=dict)
    expires: dict[int, datetime] = field(default_factory=dict)

    def enter(self, resource: str, seen: FoundFile, dag_run_id: str | None = None) -> Drop:
        """Take a file for a run, as `claim.claim_file`."""
        same = [
            each for each in self.rows.values() if (each.resource, each.seen) == (resource, seen)
        ]
        if not same:
            number = len(self.rows) + 1
            run = dag_run_id or dag_run_id_of(resource, number, self.now)
            self.rows[number] = Drop(
                number,
                resource,
                seen.path,
                seen.size,
                seen.stamp,
                "open",
                run,
                self.now,
                *(None,) * 6,
            )
            return self._hold(number, run)
        [known] = same
        wanted = dag_run_id or dag_run_id_of(resource, known.id, known.entered_at)
        if known.state != "open" or known.dag_run_id == wanted:
            return known
        if known.archive is not None:
            raise Busy(f"drop {known.id} is held by run {known.dag_run_id}")
        self._free(known, wanted)
        return self._hold(known.id, wanted)

    def enter_again(self, ended: Drop) -> Drop:
        """Take a file that is unchanged since its drop ended, like `claim.claim_again`."""
        known = self.rows[ended.id]
        if known.state in ENDED:
            self.rows[known.id] = replace(known, stamp=f"{known.stamp} of drop {known.id}")
        return self.enter(ended.resource, ended.seen)

    def reopen(self, number: int, dag_run_id: str) -> Drop:
        """Take a drop again, whatever became of it, as `claim.reopen`."""
        known = self.rows[number]
        if known.state == "open":
            self._free(known, dag_run_id)
        self.rows[number] = replace(known, state="open", same_as=None)
        return self._hold(number, dag_run_id)

    def record(self, held: Drop, *, sha256: str, archive: str) -> Drop | None:
        """Store the file's digest; return an earlier drop of the same content, as `closing.record_content`."""
        self._renew(held)
        self.rows[held.id] = replace(self.rows[held.id], sha256=sha256, archive=archive)
        earlier = [
            each
            for each in self.rows.values()
            if (each.resource, each.sha256, each.state) == (held.resource, sha256, "applied")
            and each.counts is not None
            and each.id != held.id
        ]
        latest = max(earlier, key=lambda each: each.id, default=None)
        return latest if latest and all_present(latest.counts or {}) else None

    def finish(
        self, held: Drop, ending: Ending, *, counts: Mapping[str, int] | None = None
    ) -> None:
        """End the drop, as `closing.finish`."""
        self._renew(held)
        self.rows[held.id] = replace(
            self.rows[held.id], state=ending, counts=counts, same_as=None, ended_before=None
        )

    def wait(self, span: timedelta) -> None:
        """Let time pass."""
        self.now += span

    def _free(self, known: Drop, wanted: str) -> None:
        if known.dag_run_id != wanted and self.expires[known.id] > self.now:
            raise Busy(f"drop {known.id} is held by run {known.dag_run_id}")

    def _hold(self, number: int, run: str) -> Drop:
        self.rows[number] = replace(self.rows[number], dag_run_id=run)
        self.expires[number] = self.now + LIFE
        return self.rows[number]

    def _renew(self, held: Drop) -> None:
        row = self.rows[held.id]
        if (row.dag_run_id, row.state) != (held.dag_run_id, "open"):
            raise LeaseLost(f"drop {held.id} was taken over or ended by another run")
        self.expires[held.id] = self.now + LIFE
