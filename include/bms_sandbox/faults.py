"""Faults on purpose: what goes wrong, for which requests, how often; every firing is counted."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from bms_sandbox.bugs import BUGS
from bms_sandbox.losses import LOSSES

KINDS = {
    "latency": "wait `seconds`, then serve",
    "429": "too many requests, nothing executed; Retry-After from `retry_after`",
    "503": "unavailable, nothing executed; Retry-After from `retry_after`",
    "read_only": "creates only: refused with `status` (503), nothing executed",
    "rate_limit": "429, nothing executed, beyond `per_second` matching requests a second",
    "gateway": "a gateway answers `status` (504) after `seconds`, the service is done after `origin_seconds`",
    "reset_before_read": "TCP reset with the body unread, nothing executed",
    "reset_after_read": "TCP reset once the body is read, nothing executed",
    "token_revoked": "the presented token is revoked first: 401",
    "truncated_body": "the answer's headers, half of its body, end of connection",
    "slow_body": "the answer's body in pieces over `seconds`",
    "malformed_json": "a complete answer whose JSON is broken off in the middle",
    "commit_then_lose_reply": "a creation is executed, then a TCP reset instead of its answer",
    "commit_then_500": "a creation is executed, then answered with 500",
    "commit_lag": "a creation is answered, its row exists up to `seconds` later",
    "list_lag": "a created row can be read at once, lists show it up to `seconds` later",
    "detail_lag": "a created row is listed at once, its detail is 404 up to `seconds` longer",
    "page_insert": "an item is inserted before the page asked for (page 2 and on): rows shift",
    "page_delete": "an item already served is deleted (page 2 and on): rows are skipped",
    "empty_list": "a list with rows is answered as an empty one",
    "short_list": "the second half of a list is left out",
    "missing_day": "the invoices of the busiest day of a list are left out",
    "duplicate_row": "one row of a list comes twice",
    "wrong_amount": "one invoice's total_incl_vat is a cent too high",
    "unstable_order": "a paged list comes in another order with every request",
} | {name: bug.meaning for name, bug in BUGS.items()}


class RateLimit:
    """A bucket that fills at `per_second` and holds one second's worth."""

    def __init__(self) -> None:
        self._level, self._at = 0.0, 0.0

    def wait_of(self, per_second: float) -> float:
        """Take one request out of the bucket; return seconds to wait when it is empty, else 0."""
        now = time.monotonic()
        room = max(per_second, 1.0)
        self._level = min(room, self._level + (now - self._at) * per_second)
        self._at = now
        if self._level >= 1:
            self._level -= 1
            return 0.0
        return (1 - self._level) / per_second


class UnknownFaultError(ValueError):
    """A fault was given a kind or a parameter that doesn't exist."""


@dataclass(slots=True)
class Fault:
    """One kind of fault for the requests it matches.

    operation: name or pattern (list_*) of operations; probability: of firing at each match;
    count: firings until it is spent, None: for ever; after: matches let through first;
    seconds: duration or longest lag; retry_after: seconds named by 429 and 503, None: not named;
    status: answered by a gateway or in a read-only period, None: the usual one; lasts: seconds
    from now on in which the fault is in force, None: until it is cleared.
    """

    kind: str
    operation: str = "*"
    probability: float = 1.0
    count: int | None = None
    after: int = 0
    seconds: float = 1.0
    retry_after: float | None = 1.0
    origin_seconds: float = 2.0
    per_second: float = 20.0
    status: int | None = None
    lasts: float | None = None
    matched: int = field(default=0, init=False)
    fired: int = field(default=0, init=False)
    _since: float = field(default_factory=time.monotonic, init=False, compare=False)
    _bucket: RateLimit = field(default_factory=RateLimit, init=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownFaultError(f"no fault {self.kind!r}; there are: {', '.join(KINDS)}")
        if not 0 <= self.probability <= 1:
            raise UnknownFaultError(f"probability lies between 0 and 1, not {self.probability}")

    def strikes(self, draw: Callable[[], float]) -> bool:
        """Return whether the fault strikes a request that it matches, and count the match."""
        if self.count is not None and self.fired >= self.count:
            return False
        if self.lasts is not None and time.monotonic() - self._since >= self.lasts:
            return False
        self.matched += 1
        if self.matched <= self.after or draw() >= self.probability:
            return False
        if self.kind == "rate_limit" and not self._bucket.wait_of(self.per_second):
            return False
        self.fired += 1
        return True

    def parameters(self) -> dict[str, Any]:
        """Return what the fault was made with, without what it did since."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Fault":
        """Read a fault from its JSON object."""
        known = {f.name for f in fields(cls) if f.init}
        unknown = set(content) - known
        if unknown or "kind" not in content:
            raise UnknownFaultError(
                f"a fault has kind and of {', '.join(sorted(known - {'kind'}))}; "
                f"not known: {', '.join(sorted(unknown)) or 'none'}"
            )
        return cls(**content)

    @classmethod
    def from_option(cls, option: str) -> "Fault":
        """Read `kind[@operation][:name=value,...]`, for instance 503@list_*:count=2."""
        head, _, tail = option.partition(":")
        kind, _, operation = head.partition("@")
        content: dict[str, Any] = {"kind": kind, "operation": operation or "*"}
        for part in filter(None, tail.split(",")):
            name, _, value = part.partition("=")
            read = int if name in ("count", "after", "status") else float
            try:
                content[name] = None if value == "none" else read(value)
            except ValueError:
                raise UnknownFaultError(f"{name} can't be {value!r} in {option!r}") from None
        return cls.from_json(content)


class Faults:
    """The faults in force. Each is taken at the very point where it happens, and counted there."""

    def __init__(self, plan: Iterable[Fault] = (), seed: int = 1) -> None:
        self.seed = seed
        self.fired: Counter[str] = Counter()
        self.plan: list[Fault] = []
        self.replace(plan)

    def replace(self, plan: Iterable[Fault]) -> None:
        """Put `plan` in the place of all faults in force; the draws start again from the seed."""
        self.plan = list(plan)
        self._random = Random(self.seed)  # noqa: S311 -> a repeatable draw, not a secret

    def add(self, fault: Fault) -> None:
        """Put one more fault in force."""
        self.plan.append(fault)

    def take(self, kind: str, operation: str) -> Fault | None:
        """Return the fault of `kind` that strikes this request now, or None."""
        for fault in self.plan:
            if fault.kind != kind or not fnmatchcase(operation, fault.operation):
                continue
            if fault.strikes(self._random.random):
                self.fired[kind] += 1
                return fault
        return None

    @property
    def shifts_pages(self) -> bool:
        """Say whether any fault in force moves rows between pages."""
        return any(fault.kind in ("page_insert", "page_delete") for fault in self.plan)

    @property
    def loses_rows(self) -> bool:
        """Say whether any fault in force alters what lists hold."""
        return any(fault.kind in LOSSES for fault in self.plan)

    @property
    def has_bugs(self) -> bool:
        """Say whether any fault in force lets answers to different questions contradict each other."""
        return any(fault.kind in BUGS for fault in self.plan)

    def lag(self, kind: str, operation: str) -> float:
        """Return the lag in seconds that this request's row gets: seeded, per row."""
        fault = self.take(kind, operation)
        return fault.seconds * self._random.uniform(0.1, 1.0) if fault else 0.0

    def as_json(self) -> list[dict[str, Any]]:
        """Return the faults in force with what each did so far."""
        counts = ("matched", "fired")
        return [f.parameters() | {name: getattr(f, name) for name in counts} for f in self.plan]


def describe() -> str:
    """Return one line per kind and the parameters with their defaults."""
    kinds = "\n".join(f"  {kind:24}{text}" for kind, text in KINDS.items())
    parameters = ", ".join(
        f"{f.name}={f.default}" for f in fields(Fault) if f.init and f.default is not MISSING
    )
    return f"{kinds}\n  parameters and defaults: {parameters}"
