"""Gauges that every freshness check emits: age of loads, pending rows, open alarms."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, func, select, text

from bms_flows.catalog import CREATED_BY, LOADED_BY
from bms_flows.monitoring.freshness import Freshness
from bms_warehouse.tables import alarm

_ROWS = text("""
select 'quarantine', resource, count(*) from bms.quarantine group by resource
union all
select state, resource, count(*) from bms.creation
where state in ('unknown', 'review') group by state, resource
""")


class Gauge(NamedTuple):
    """A gauge with its tags."""

    name: str
    value: float
    tags: dict[str, str]


def gauges(connection: Connection, found: Mapping[str, Freshness]) -> Iterator[Gauge]:
    """Yield every gauge, zeros included: metrics systems keep the last value of a missing gauge."""
    for flow, freshness in found.items():
        if freshness.state is not None:
            tags = {"flow": flow}
            if freshness.age is not None:
                yield Gauge("bms.freshness", freshness.age.total_seconds(), tags)
            yield Gauge("bms.wrong", float(bool(freshness.alarming)), tags)
    rows = {(state, resource): float(n) for state, resource, n in connection.execute(_ROWS)}
    for resource in LOADED_BY:
        tags = {"resource": resource}
        yield Gauge("bms.quarantine", rows.get(("quarantine", resource), 0.0), tags)
        if resource in CREATED_BY:
            yield Gauge("bms.unknown", rows.get(("unknown", resource), 0.0), tags)
            yield Gauge("bms.review", rows.get(("review", resource), 0.0), tags)
    open_alarms = select(func.count()).where(alarm.c.recovered_at.is_(None))
    yield Gauge("bms.alarms", float(connection.scalar(open_alarms) or 0), {})
