"""Loading stored answers: of an accepted load, of a partly held one, of a rebuild."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection
from upath import UPath

from bms_flows.invoices.load import Loader
from bms_flows.invoices.raw import stored_days, stored_moved_responses, stored_responses
from bms_flows.invoices.transform import Transform
from bms_flows.invoices.units import Unit
from bms_flows.runtime.landing import parquet_file


@dataclass(frozen=True)
class StoredResponses:
    """Answers of a step, and how they are to be read."""

    raw: UPath
    zone: str
    range_date: str
    read_at: datetime
    """When reading began."""

    def lacks(self, unit: Unit) -> bool:
        """Return whether the answer for a day of `unit` is gone."""
        return not unit.days <= stored_days(self.raw)


def reload(
    before: Connection,
    merging: Loader,
    unit: Unit,
    stored: StoredResponses,
    *,
    later: bool,
    parquet: UPath | None = None,
    renew: Callable[[], None] = lambda: None,
) -> Transform:
    """Merge the days of `unit` from stored answers; return what they hold. Nothing is published yet.

    `before` reads what was committed before. With `later`, other loads may have been published since
    the answers were read: what these have learned stays. The rows go to the file `parquet`.
    """
    without = stored_days(stored.raw) - unit.days
    load = Transform(
        before,
        unit.id_entity,
        stored.zone,
        stored.range_date,
        stored.read_at,
        without=without,
        stored=later,
    )
    with ExitStack() as files:
        writer: Any = None
        for window, answer in stored_responses(stored.raw):
            taken = load.take(window, answer)
            if parquet is not None and writer is None:
                writer = files.enter_context(parquet_file(parquet, taken.rows.schema))
            if writer is not None:
                writer.write_table(taken.rows)
            merging.add(taken.differing)
            renew()
    for answer in stored_moved_responses(stored.raw):
        merging.add(load.follow(answer))
    return load
