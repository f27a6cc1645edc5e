"""Catalog of the metrics that the project sends through Airflow."""

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True)
class Metric:
    """A metric with its tags."""

    kind: Literal["counter", "gauge", "timer"]
    tags: tuple[str, ...]
    meaning: str


METRICS: Final = {
    "bms.requests": Metric("counter", ("operation",), "Requests to the service."),
    "bms.retries": Metric("counter", ("operation",), "Requests that were sent again."),
    "bms.throttles": Metric("counter", ("operation",), "Responses with status 429 or 503."),
    "bms.token_fetches": Metric("counter", ("operation",), "Tokens requested."),
    "bms.latency": Metric(
        "timer", ("operation", "endpoint"), "Duration of a request, in milliseconds."
    ),
    "bms.rows": Metric(
        "counter",
        ("resource", "outcome"),
        "Rows of a load by outcome: inserted, changed, unchanged, quarantined, missing.",
    ),
    "bms.freshness": Metric(
        "gauge", ("flow",), "Age of the flow's last complete load, in seconds."
    ),
    "bms.wrong": Metric("gauge", ("flow",), "1 if the flow raises an alarm, otherwise 0."),
    "bms.alarms": Metric("gauge", (), "Open alarms."),
    "bms.quarantine": Metric("gauge", ("resource",), "Invalid rows in bms.quarantine."),
    "bms.unknown": Metric("gauge", ("resource",), "Creates with an ambiguous outcome."),
    "bms.review": Metric("gauge", ("resource",), "Rows that wait for a reviewer."),
}
"""Metrics by name; Airflow adds its own prefix."""
