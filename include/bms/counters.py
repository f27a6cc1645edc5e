"""What a client did, counted: requests on the wire, repeats, waits asked for, bytes, latencies."""

from dataclasses import dataclass, field
from typing import Any

from bms.endpoints import Endpoint


@dataclass(slots=True)
class Counters:
    """Counts of one client (or of several that share it), the token operation included."""

    requests: int = 0
    """Requests put on the wire, every repeat counted."""
    retries: int = 0
    """Requests sent again after a failure or a renewed token."""
    throttles: int = 0
    """Answers with status 429."""
    token_fetches: int = 0
    """Tokens asked for and received."""
    bytes: int = 0
    """Bytes of answers received, decompressed."""
    latencies: dict[str, list[float]] = field(default_factory=dict, repr=False)
    """Seconds from request to whole answer, by endpoint name, in the order of arrival."""

    def record_response(
        self, endpoint: Endpoint, *, status: int, size: int, seconds: float
    ) -> None:
        """Count one whole answer."""
        self.bytes += size
        self.throttles += status == 429  # noqa: PLR2004 -- the status of a throttle, nothing to name
        self.latencies.setdefault(endpoint.name, []).append(seconds)

    def latency(self, endpoint: str, share: float) -> float | None:
        """Return the seconds within which `share` (0.95 for p95) of an endpoint's answers came."""
        seen = sorted(self.latencies.get(endpoint, ()))
        return seen[min(len(seen) - 1, int(share * len(seen)))] if seen else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON; latencies as count, p50 and p95 per endpoint."""
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
