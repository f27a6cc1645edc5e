"""Ground truth: counts of requests and created rows, and latencies, unaffected by faults."""

import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bms_sandbox.row_encoder import Row

# Two created rows are duplicates if they are equal in all these fields.
NATURAL = {
    "employees": (
        "id_entity",
        "payroll_number",
        "first_name",
        "last_name",
        "business_email",
        "start_date",
    ),
    "contacts": ("first_name", "last_name", "email", "id_client"),
    "consultants": ("first_name", "last_name", "email", "type"),
}
SAMPLES = 20_000


@dataclass(slots=True)
class RequestRecord:
    """A request; its outcome is an HTTP status or the fault that replaced the response."""

    operation: str
    outcome: str = "unfinished"


@dataclass
class GroundTruth:
    """Counts since the start or the last reset."""

    requests: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    created: defaultdict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    in_flight: int = 0
    in_flight_max: int = 0
    body_bytes: int = 0
    durations: defaultdict[str, deque[float]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=SAMPLES))
    )

    @contextmanager
    def request(self, operation: str) -> Iterator[RequestRecord]:
        """Count a request from its headers to the last byte of its response."""
        request = RequestRecord(operation)
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        started = time.perf_counter()
        try:
            yield request
        finally:
            self.in_flight -= 1
            self.requests[operation][request.outcome] += 1
            self.durations[operation].append(time.perf_counter() - started)

    def add_created(self, resource: str, key: int | str, row: Row) -> None:
        """Record that a request created `row`."""
        natural = {name: row[name] for name in NATURAL[resource]}
        self.created[resource].append({"key": key, "created_on": row["created_on"]} | natural)

    def reset_counts(self) -> None:
        """Reset all counts except that of requests in flight."""
        for counts in (self.requests, self.created, self.durations):
            counts.clear()
        self.in_flight_max = self.in_flight
        self.body_bytes = 0

    def as_json(self) -> dict[str, Any]:
        """Return all counts; `duplicates` contains the rows that were created more than once."""
        return {
            "requests": self.requests,
            "in_flight": self.in_flight,
            "in_flight_max": self.in_flight_max,
            "body_bytes": self.body_bytes,
            "created": {name: self.created[name] for name in NATURAL},
            "duplicates": {name: self._duplicates(name) for name in NATURAL},
            "latency_ms": {name: percentiles(took) for name, took in self.durations.items()},
        }

    def _duplicates(self, resource: str) -> list[dict[str, Any]]:
        groups: defaultdict[tuple[Any, ...], list[int | str]] = defaultdict(list)
        for made in self.created[resource]:
            groups[tuple(made[name] for name in NATURAL[resource])].append(made["key"])
        return [
            dict(zip(NATURAL[resource], natural, strict=True)) | {"keys": keys}
            for natural, keys in groups.items()
            if len(keys) > 1
        ]


def percentiles(seconds: deque[float]) -> dict[str, float]:
    """Return p50, p95, p99 and the maximum in milliseconds, by nearest rank."""
    ranked = sorted(seconds)
    points = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {
        name: round(ranked[max(0, -(-int(share * 100) * len(ranked) // 100) - 1)] * 1000, 3)
        for name, share in points.items()
    }
