"""Counters of requests, retries, throttles, bytes and latencies."""

from dataclasses import dataclass, field
from typing import Any

from bms.endpoints import Endpoint


@dataclass(slots=True)
class Counters:
    """Counters of one client, or of several that share them; token requests included."""

    requests: int = 0
    """Requests sent, with every retry."""
    retries: int = 0
    """Requests repeated after a failure or with a renewed token."""
    throttles: int = 0
    """Responses with status 429."""
    token_fetches: int = 0
    """Tokens received."""
    bytes: int = 0
    """Bytes of response bodies after decompression."""
    latencies: dict[str, list[float]] = field(default_factory=dict, repr=False)
    """Seconds from request to complete response by endpoint name, in order of arrival."""

    def record_response(
        self, endpoint: Endpoint, *, status: int, size: int, seconds: float
    ) -> None:
        """Count one complete response."""
        self.bytes += size
        self.throttles += status == 429  # noqa: PLR2004 - HTTP status
        self.latencies.setdefault(endpoint.name, []).append(seconds)

    def latency(self, endpoint: str, share: float) -> float | None:
        """Return a percentile of an endpoint's latencies in seconds; `share` is 0.95 for p95."""
        seen = sorted(self.latencies.get(endpoint, ()))
        return seen[min(len(seen) - 1, int(share * len(seen)))] if seen else None

    def as_dict(self) -> dict[str, Any]:
        """Return the counters as JSON values; latencies as count, p50 and p95 by endpoint."""
        return {
            "requests": self.requests,
            "retries": self.retries,
            "throttles": self.throttles,
            "token_fetches": self.token_fetches,
            "bytes": self.bytes,
            "latency": {
                name: {
                    "count": len(seen),
                    "p50": self.latency(name, 0.50),
                    "p95": self.latency(name, 0.95),
                }
                for name, seen in self.latencies.items()
            },
        }
