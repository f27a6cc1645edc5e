"""Ground truth: counts of requests and created rows, unaffected by faults."""

from collections import Counter, defaultdict
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

    @contextmanager
    def request(self, operation: str) -> Iterator[RequestRecord]:
        """Count a request from its headers to the last byte of its response."""
        request = RequestRecord(operation)
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        try:
            yield request
        finally:
            self.in_flight -= 1
            self.requests[operation][request.outcome] += 1

    def add_created(self, resource: str, key: int | str, row: Row) -> None:
        """Record that a request created `row`."""
        natural = {name: row[name] for name in NATURAL[resource]}
        self.created[resource].append({"key": key, "created_on": row["created_on"]} | natural)

    def reset_counts(self) -> None:
        """Reset all counts except that of requests in flight."""
        self.requests.clear()
        self.created.clear()
        self.in_flight_max = self.in_flight

    def as_json(self) -> dict[str, Any]:
        """Return all counts; `duplicates` contains the rows that were created more than once."""
        return {
            "requests": self.requests,
            "in_flight": self.in_flight,
            "in_flight_max": self.in_flight_max,
            "created": {name: self.created[name] for name in NATURAL},
            "duplicates": {name: self._duplicates(name) for name in NATURAL},
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
