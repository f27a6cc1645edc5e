"""Results of one flow that was disturbed at many points."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bms_sandbox.serve import Sandbox
from bms_warehouse import database
from proofs import flows, ground_truth
from proofs.flows import ContactSync, Ending, Extraction
from proofs.kill_invoices import Killing


@dataclass
class Story:
    """What was done, how the disturbed processes ended, and what was wrong afterwards."""

    what: str
    wrong: list[str] = field(default_factory=list)
    endings: Counter[str] = field(default_factory=Counter)

    def took(self, point: object, ending: Ending) -> None:
        """Record how a disturbed process ended: it succeeded, or failed with a retriable error."""
        said = ending.text.partition(":")[0].partition(" in ")[0]  # the place is each time another
        self.endings[f"{ending.kind}, {said}" if said else ending.kind or "went on"] += 1
        if not ending.acceptable:
            self.found(point, [f"{ending.code} {ending.kind}: {ending.text[:200]}"])

    def found(self, point: object, wrong: Iterable[str]) -> None:
        """Take in what is wrong afterwards."""
        self.wrong += [f"{point}: {each}" for each in wrong]

    def extracted(self, point: object, killing: Killing, flow: Extraction) -> None:
        """Compare a disturbed extraction with before and after; run it again, and compare that with after."""
        left = killing.read_state(flow.warehouse)
        if left not in (killing.was, killing.will_be):
            self.found(point, ["something between before and after shows"])
        flows.well(flow)
        if killing.read_state(flow.warehouse) != killing.will_be:
            self.found(point, ["the next run ended with another table"])
        published = left == killing.will_be
        self.found(point, killing.records(flow.warehouse, published=published))

    def synced(self, point: object, flow: ContactSync, sandbox: Sandbox) -> None:
        """Run a disturbed sync again, and compare its mirror with the service."""
        flows.well(flow)
        engine = database.connect(flow.warehouse)
        with engine.connect() as connection:
            self.found(point, ground_truth.contacts(connection, sandbox))
            self.found(point, ground_truth.stuck(connection))
        engine.dispose()

    def report(self, figure: Callable[[str], None]) -> None:
        """Show the figures; fail if anything is wrong."""
        ends = ", ".join(f"{count} {name}" for name, count in sorted(self.endings.items()))
        figure(f"{self.what}: {self.endings.total()} times; {ends}; {len(self.wrong)} wrong")
        assert self.wrong == []
