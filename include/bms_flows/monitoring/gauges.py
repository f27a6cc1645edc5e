"""Gauges that every freshness check emits: age of loads, pending rows, open alarms."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, case, func, select

from bms_flows.catalog import CREATED_BY, LOADED_BY
from bms_flows.monitoring.freshness import Freshness
from bms_warehouse.tables import alarm, creation, quarantine


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
    quarantined: dict[str, int] = dict(
        connection.execute(
            select(quarantine.c.resource, func.count()).group_by(quarantine.c.resource)
        ).all()
    )
    pending = {
        resource: (unknown, review)
        for resource, unknown, review in connection.execute(
            select(
                creation.c.resource,
                func.count(case((creation.c.state == "unknown", 1))),
                func.count(case((creation.c.state == "review", 1))),
            ).group_by(creation.c.resource)
        )
    }
    for resource in LOADED_BY:
        tags = {"resource": resource}
        yield Gauge("bms.quarantine", float(quarantined.get(resource, 0)), tags)
        if resource in CREATED_BY:
            unknown, review = pending.get(resource, (0, 0))
            yield Gauge("bms.unknown", float(unknown), tags)
            yield Gauge("bms.review", float(review), tags)
    open_alarms = select(func.count()).where(alarm.c.recovered_at.is_(None))
    yield Gauge("bms.alarms", float(connection.scalar(open_alarms) or 0), {})
