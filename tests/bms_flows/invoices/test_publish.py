"""A load is published only when every row is counted."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from sqlalchemy import Engine, text

from bms_flows.invoices.load import Loader
from bms_flows.invoices.publish import UnbalancedCounts, publish
from bms_flows.invoices.rows import Reading
from bms_flows.invoices.totals import DayFacts
from bms_flows.invoices.transform import Transform, WindowComparison
from bms_flows.invoices.units import Unit
from bms_flows.runtime.step_log import RowCounts
from bms_flows.runtime.windows import Window
from bms_warehouse.database import clock
from bms_warehouse.history import Stamp
from tests.support.sql import scalar

READING = Reading(1, "Europe/Paris", "invoice_date")
UNIT = Unit(1, (Window(date(2026, 3, 2), date(2026, 3, 6)),))


@pytest.mark.parametrize(
    "counts", [RowCounts(rows_read=1), RowCounts(unchanged=1), RowCounts(quarantined=2)]
)
def test_rows_that_do_not_add_up_are_not_published(warehouse: Engine, counts: RowCounts) -> None:
    with warehouse.begin() as connection:
        load = Transform(connection, READING, clock(connection), counts=counts)
        loader = Loader(connection, Stamp(1, clock(connection)), "FR", "FR")
        with pytest.raises(UnbalancedCounts, match="entity 1"):
            publish(load, loader, UNIT)
    assert not scalar(warehouse, "select count(*) from bms.client_invoice_day")


@pytest.mark.parametrize(("day", "missing"), [("2026-03-03", 1), ("2026-03-20", 0)])
def test_what_another_unit_found_on_a_new_day_meanwhile_has_not_vanished(
    warehouse: Engine, extract: Callable[..., Any], day: str, missing: int
) -> None:
    """Units of an entity load side by side, and an invoice may move from one's days to another's."""
    extract("2026-03-02", "2026-03-06")
    with warehouse.begin() as connection:
        moved = "update bms.client_invoice set _day = :day where id_invoice = :id"
        one = connection.scalar(text("select min(id_invoice) from bms.client_invoice"))
        load = Transform(connection, READING, clock(connection))
        load.windows.append(WindowComparison(UNIT.windows[0], 1, {int(one or 0)}, 0))
        load.totals.days.update(dict.fromkeys(UNIT.windows[0], DayFacts()))
        connection.execute(text(moved), {"day": day, "id": one})
        publish(load, Loader(connection, Stamp(1, clock(connection)), "FR", "FR"), UNIT)
    assert load.counts.missing == missing
