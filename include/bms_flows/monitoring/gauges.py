"""What is measured at every watch: the age of loads, rows that wait, alarms that are open."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, case, func, select

from bms_flows.monitoring.freshness import Freshness
from bms_warehouse.tables import alarm, creation, quarantine

RESOURCES = ("client_invoice", "contact", "consultant", "employee")
"""Each is measured at every watch, 0 included: a gauge that is not sent keeps its last value."""


class Gauge(NamedTuple):
    """A figure by its name and tags."""

    name: str
    value: float
    tags: dict[str, str]


def gauges(connection: Connection, found: Mapping[str, Freshness]) -> Iterator[Gauge]:
    """Yield every figure; freshness is the age of the last complete load, in seconds."""
    for flow, freshness in found.items():
        if freshness.state is not None:
            tags = {"flow": flow}
            if freshness.age is not None:
                yield Gauge("bms.freshness", freshness.age.total_seconds(), tags)
            yield Gauge("bms.wrong", float(bool(freshness.wrong)), tags)
    aside: dict[str, int] = dict(
        connection.execute(
            select(quarantine.c.resource, func.count()).group_by(quarantine.c.resource)
        ).all()
    )
    waiting = {
        resource: (unknown, review)
        for resource, unknown, review in connection.execute(
            select(
                creation.c.resource,
                func.count(case((creation.c.state == "unknown", 1))),
                func.count(case((creation.c.state == "review", 1))),
            ).group_by(creation.c.resource)
        )
    }
    for resource in RESOURCES:
        tags = {"resource": resource}
        yield Gauge("bms.quarantine", float(aside.get(resource, 0)), tags)
        if resource != "client_invoice":  # nothing is created of these
            unknown, review = waiting.get(resource, (0, 0))
            yield Gauge("bms.unknown", float(unknown), tags)
            yield Gauge("bms.review", float(review), tags)
    standing = select(func.count()).where(alarm.c.recovered_at.is_(None))
    yield Gauge("bms.alarms", float(connection.scalar(standing) or 0), {})
