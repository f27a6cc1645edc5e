"""Grid of runs: a drop killed at every durable step, with every fault and every kind of restart.

Each cell runs in separate processes, over real HTTP and PostgreSQL, and is compared with the sandbox's
ground truth: no duplicate, no loss, no unfinished row, and the fault occurred.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bms_sandbox.serve import Sandbox
from proofs import flows
from proofs.flows import AGAIN, Creation
from tests.bms_flows.onboarding.crm import people
from tests.bms_flows.onboarding.onboarding import Run, let_clock_run, onboard, others_working

FAULTS: dict[str, dict[str, float]] = {
    "none": {},
    "commit_then_lose_reply": {},
    "commit_then_500": {},
    "reset_before_read": {},
    "reset_after_read": {},
    "truncated_body": {},
    "malformed_json": {},
    "slow_body": {"seconds": 0.2},
    "503": {"retry_after": 0},
    "429": {"retry_after": 0},
    "latency": {"seconds": 0.6},
    "commit_lag": {"seconds": 0.25},
    "list_lag": {"seconds": 0.25},
    "token_revoked": {},
}
RESTARTS = ("retry", "clear", "redrop", "two_at_once")
"""A retry continues at the killed step; a cleared run and a second run start from the first step."""
UNPROVEN = {"absence_not_proven", "waits_for_manager"}
"""Codes of rows that a reviewer decides because the lists do not prove the absence of a record."""
STRIKES = 2
"""Creates with the fault, per cell."""
PATIENCE = 12
"""Restarts after which a cell counts as stuck."""


@dataclass(frozen=True)
class Cell:
    """One case: the fault, the step of the kill (0: none), and the kind of restart."""

    fault: str
    kill_at: int
    restart: str

    def __str__(self) -> str:
        return f"{self.fault}-{self.kill_at}-{self.restart}"


@dataclass
class Result:
    """The result of a cell; `wrong` lists violations."""

    cell: Cell
    seconds: float
    wrong: tuple[str, ...]
    killed: bool


Drop = Callable[[bytes, str], Run]
"""Enters a file of a resource as a drop."""


def cells(steps: int) -> Iterator[Cell]:
    """Every cell of the grid."""
    for fault, kill_at, restart in itertools.product(FAULTS, range(1, steps + 1), RESTARTS):
        yield Cell(fault, kill_at, restart)


@dataclass(frozen=True)
class Kind:
    """What is created: its operation, its rows in the sandbox, the fields of key and id."""

    operation: str
    rows: str
    key: str
    id: str
    earlier: bytes
    """A file of an earlier drop, whose record shows the offset of `created_on`."""


KINDS = {
    "employee": Kind(
        *("create_employee", "employees", "payroll_number", "guid_employee"),
        people("employee", "1;900000;Premier;Anne;2026-05-01"),
    ),
    "contact": Kind(
        *("create_contact", "contacts", "email", "id"),
        people("contact", "Premier;Anne;anne@depot.example;;;"),
    ),
    "consultant": Kind(
        *("create_consultant", "consultants", "email", "id"),
        people("consultant", "Premier;Anne;anne@depot.example;;;"),
    ),
}


def play(
    cell: Cell,
    sandbox: Sandbox,
    drop: Drop,
    content: bytes,
    keys: Counter[str],
    resource: str = "employee",
    **dialect: str,
) -> Result:
    """Play one cell in a dialect; `keys` are those of the file, which must be there once each."""
    kind = KINDS[resource]
    started = time.monotonic()
    sandbox.reset()
    if dialect:
        sandbox.set_dialect(**dialect)
    let_clock_run(sandbox)
    onboard(drop(kind.earlier, resource))
    sandbox.reset_counts()
    first = drop(content, resource)
    if cell.fault != "none":
        sandbox.set_fault(cell.fault, kind.operation, count=STRIKES, **FAULTS[cell.fault])
    killed = flows.run(Creation(first), cell.kill_at).killed
    again = drop(content, resource) if cell.restart == "redrop" else first
    at_once = 2 if cell.restart == "two_at_once" else 1
    if cell.restart in ("clear", "two_at_once"):
        again = replace(again, kept="")
    with others_working(sandbox, kind.rows):
        for _ in range(PATIENCE):
            codes = [each.code for each in flows.at_once(*[Creation(again)] * at_once)]
            if not any(codes):
                break
            time.sleep(again.settings.lease_s)
    found = list(wrong(sandbox, again, keys, codes))
    truth = sandbox.truth()
    sent = keys.keys() & {row[kind.key] for row in truth["created"][kind.rows]}
    if cell.fault != "none" and sent and not truth["faults"].get(cell.fault):
        found.append("the fault never struck")
    return Result(cell, time.monotonic() - started, tuple(found), killed)


def wrong(
    sandbox: Sandbox, run: Run, keys: Counter[str], codes: Sequence[int | None]
) -> Iterator[str]:
    """Yield in words what must not be of a run whose last processes ended with `codes`."""
    truth, kind = sandbox.truth(), KINDS[run.resource]
    made = Counter(row[kind.key] for row in truth["created"][kind.rows])
    if any(code not in (0, AGAIN) for code in codes):
        yield f"a run ended with {codes}"
    elif any(codes):
        yield "stuck"
    if doubled := {key: n for key, n in made.items() if n > 1}:
        yield f"doubled: {doubled}"
    outcomes = [] if any(codes) else list(onboard(replace(run, kept="")))
    asked = {each.key for each in outcomes if UNPROVEN & {fault.code for fault in each.faults}}
    if lost := {key: n for key, n in (keys - made).items() if key not in asked}:
        yield f"lost: {lost}"
    if not any(codes):
        ids = {row[kind.key]: str(row[kind.id]) for row in sandbox.rows(kind.rows)}
        for outcome in outcomes:
            if outcome.key in asked and outcome.key not in made:
                continue  # no create was confirmed before, so records of others prove nothing
            if outcome.state not in ("created", "adopted", "already_there"):
                yield f"line {outcome.line} ended as {outcome.state}"
            elif ids[outcome.key] != outcome.guid:
                yield f"line {outcome.line} has another's id"
