"""Tests of the counters as metrics."""

from bms.counters import Counters
from bms.endpoints import BY_NAME


def test_responses_are_counted_with_their_latency_by_endpoint() -> None:
    counters = Counters()
    for seconds in (2.0, 1.0):
        counters.record_response(BY_NAME["list_employees"], status=200, size=10, seconds=seconds)
    counters.record_response(BY_NAME["read_employee"], status=429, size=1, seconds=3.0)
    assert counters.latencies == {"list_employees": [2.0, 1.0], "read_employee": [3.0]}
    assert (counters.bytes, counters.throttles) == (21, 1)
