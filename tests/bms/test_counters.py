"""Tests of the counters as metrics."""

import json

from bms.counters import Counters
from bms.endpoints import BY_NAME


def test_latencies_are_percentiles_by_endpoint() -> None:
    counters = Counters()
    for tenths in range(100, 0, -1):
        counters.record_response(
            BY_NAME["list_employees"], status=200, size=10, seconds=tenths / 10
        )
    counters.record_response(BY_NAME["read_employee"], status=429, size=1, seconds=2.0)
    told = counters.as_dict()
    assert told["latency"]["list_employees"] == {"count": 100, "p50": 5.1, "p95": 9.6}
    assert told["latency"]["read_employee"] == {"count": 1, "p50": 2.0, "p95": 2.0}
    assert (told["bytes"], told["throttles"]) == (1001, 1)
    assert counters.latency("create_employee", 0.5) is None
    assert json.loads(json.dumps(told)) == told
