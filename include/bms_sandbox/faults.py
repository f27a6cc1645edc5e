"""Fault injection: kinds of faults, the requests that they match, and counts of their firings."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from bms_sandbox.wrong_responses import WRONG_RESPONSES

KINDS = {
    "latency": "wait `seconds`, then serve",
    "429": "too many requests, nothing executed; Retry-After from `retry_after`",
    "503": "unavailable, nothing executed; Retry-After from `retry_after`",
    "read_only": "creates only: refused with `status` (503), nothing executed",
    "rate_limit": "429, nothing executed, beyond `per_second` matching requests a second",
    "gateway": "a gateway answers `status` (504) after `seconds`, the service finishes after `origin_seconds`",
    "reset_before_read": "TCP reset with the body unread, nothing executed",
    "reset_after_read": "TCP reset once the body is read, nothing executed",
    "token_revoked": "the presented token is revoked first: 401",
    "truncated_body": "headers and half of the body, then the connection ends",
    "slow_body": "the body in chunks over `seconds`",
    "malformed_json": "a complete response whose JSON ends in the middle",
    "commit_then_lose_reply": "a creation is executed, then a TCP reset instead of its response",
    "commit_then_500": "a creation is executed, then answered with 500",
    "commit_lag": "a created row exists up to `seconds` after the response",
    "list_lag": "lists show a created row up to `seconds` later than its detail",
    "detail_lag": "the detail of a created row is 404 up to `seconds` longer than lists show it",
    "page_insert": "an item is inserted before the requested page (from page 2 on): rows shift",
    "page_delete": "an item of an earlier page is deleted (from page 2 on): rows are skipped",
    "stale_response": "the response repeats that to the request before",
    "unstable_order": "the order of a paged list changes with every request",
} | {name: each.meaning for name, each in WRONG_RESPONSES.items()}


class RateLimit:
    """Token bucket with a capacity of one second."""

    def __init__(self) -> None:
        self._level, self._at = 0.0, 0.0

    def wait_of(self, per_second: float) -> float:
        """Take one token; return the seconds to wait if the bucket is empty, else 0."""
        now = time.monotonic()
        room = max(per_second, 1.0)
        self._level = min(room, self._level + (now - self._at) * per_second)
        self._at = now
        if self._level >= 1:
            self._level -= 1
            return 0.0
        return (1 - self._level) / per_second


class InvalidFaultError(ValueError):
    """A fault has an unknown kind or parameter."""


@dataclass(slots=True)
class Fault:
    """One kind of fault for the requests it matches.

    operation: name or pattern (list_*) of operations; probability: chance to fire at each match;
    count: maximum firings, None: no limit; after: matches to skip first; seconds: duration or
    maximum lag; retry_after: Retry-After of 429 and 503, None: no header; status: status of a
    gateway or a read-only period, None: the default; lasts: seconds from now in which the fault
    is active, None: until it is removed.
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
            raise InvalidFaultError(f"no fault {self.kind!r}; there are: {', '.join(KINDS)}")
        if not 0 <= self.probability <= 1:
            raise InvalidFaultError(f"probability must be between 0 and 1, not {self.probability}")

    def strikes(self, draw: Callable[[], float]) -> bool:
        """Count a matching request; return whether the fault fires."""
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
        """Return the parameters of the fault, without its counts."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Fault":
        """Read a fault from its JSON object."""
        known = {f.name for f in fields(cls) if f.init}
        unknown = set(content) - known
        if unknown or "kind" not in content:
            raise InvalidFaultError(
                f"a fault has a kind and may have {', '.join(sorted(known - {'kind'}))}; "
                f"unknown: {', '.join(sorted(unknown)) or 'none'}"
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
                raise InvalidFaultError(f"{name} can't be {value!r} in {option!r}") from None
        return cls.from_json(content)


class Faults:
    """The active faults, with counts of their firings."""

    def __init__(self, plan: Iterable[Fault] = (), seed: int = 1) -> None:
        self.seed = seed
        self.fired: Counter[str] = Counter()
        self.plan: list[Fault] = []
        self.replace(plan)

    def replace(self, plan: Iterable[Fault]) -> None:
        """Replace all faults by `plan` and restart the random draws from the seed."""
        self.plan = list(plan)
        self._random = Random(self.seed)  # noqa: S311 -> a repeatable draw, not a secret

    def add(self, fault: Fault) -> None:
        """Add a fault."""
        self.plan.append(fault)

    def take(self, kind: str, operation: str) -> Fault | None:
        """Return the fault of `kind` that fires for a request of `operation`, or None."""
        for fault in self.plan:
            if fault.kind != kind or not fnmatchcase(operation, fault.operation):
                continue
            if fault.strikes(self._random.random):
                self.fired[kind] += 1
                return fault
        return None

    def any_of(self, *kinds: str) -> bool:
        """Return whether a fault of one of `kinds` is active."""
        return any(fault.kind in kinds for fault in self.plan)

    def lag(self, kind: str, operation: str) -> float:
        """Return the random lag of a created row in seconds, 0 without a fault."""
        fault = self.take(kind, operation)
        return fault.seconds * self._random.uniform(0.1, 1.0) if fault else 0.0

    def as_json(self) -> list[dict[str, Any]]:
        """Return the active faults with their counts."""
        counts = ("matched", "fired")
        return [f.parameters() | {name: getattr(f, name) for name in counts} for f in self.plan]


def describe() -> str:
    """Return the kinds of faults and the parameters with their defaults as text."""
    kinds = "\n".join(f"  {kind:24}{text}" for kind, text in KINDS.items())
    parameters = ", ".join(
        f"{f.name}={f.default}" for f in fields(Fault) if f.init and f.default is not MISSING
    )
    return f"{kinds}\n  parameters and defaults: {parameters}"
