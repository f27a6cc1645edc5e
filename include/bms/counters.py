"""Counters of requests, retries, throttles, bytes and latencies."""

from dataclasses import dataclass, field

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
