"""The watermark: days that were over when they were read, by the service's clock zone."""

from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import Engine

from bms_flows.invoices.planning import plan_with_lookback
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.windows import DAY, Window
from bms_sandbox.serve import Sandbox
from bms_warehouse.tables import client_invoice_day
from tests.bms_flows.conftest import Extract
from tests.support.days import today
from tests.support.sql import scalar, scalars


def read_days(warehouse: Engine) -> list[date]:
    return [*scalars(warehouse, "select day from bms.client_invoice_day order by 1")]


@pytest.mark.parametrize("zone", ["Europe/Paris", "Etc/GMT+12", "Pacific/Kiritimati"])
def test_only_days_that_are_over_in_the_service_count_as_read(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, zone: str
) -> None:
    sandbox.set_clock(datetime.now(UTC))
    sandbox.set_dialect(time_zone=zone)
    first, last = today() - 3 * DAY, today() + timedelta(days=41)
    manifest = extract(first.isoformat(), last.isoformat(), time_zone=zone)
    assert read_days(warehouse) == [*Window(first, today(zone) - DAY)]
    stored = scalar(warehouse, "select count(*) from bms.client_invoice")
    assert stored == manifest["inserted"] > 0, "invoices of the other days are loaded all the same"


def test_days_read_before_they_were_over_are_read_once_they_are(
    sandbox: Sandbox, warehouse: Engine, extract: Extract
) -> None:
    """A run with an end date in the future, then none until long after it."""
    sandbox.set_clock(datetime.now(UTC))
    first, last = today() - 10 * DAY, today() + timedelta(days=41)
    extract(first.isoformat(), last.isoformat())
    later = today() + timedelta(days=100)
    asked = Window(later - DAY, later - DAY)
    planned, _ = plan_with_lookback(warehouse, [1], asked, FlowSettings(), today=later)
    days = {day for unit in planned for day in unit.days}
    assert {*Window(today(), last)} <= days


def test_the_first_read_of_a_new_entity_says_that_older_invoices_need_a_backfill(
    warehouse: Engine, extract: Extract, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing else would say that an entity which joined has only its latest invoices."""
    extract("2026-03-01", "2026-03-01")
    asked = Window(date(2026, 3, 30), date(2026, 3, 30))
    plan_with_lookback(warehouse, [1, 2], asked, FlowSettings(), today=date(2026, 3, 31))
    said = "entity 2: first read, from 2026-02-24 on. If the entity has older invoices, run a backfill."
    assert caplog.messages[1:] == [said]


def test_a_day_entered_before_it_was_over_counts_as_never_read(warehouse: Engine) -> None:
    """As loads of an earlier release entered it."""
    with warehouse.begin() as connection:
        connection.execute(
            client_invoice_day.insert(),
            [
                {
                    "id_entity": 1,
                    "day": date(2026, 3, day),
                    "invoices": 0,
                    "open_invoices": 0,
                    "read_at": datetime(2026, 3, 20, 12, tzinfo=UTC),
                }
                for day in range(1, 31)
            ],
        )
    later = date(2026, 6, 30)
    settings = FlowSettings(lookback_rotation=1000)
    [unit], _ = plan_with_lookback(
        warehouse, [1], Window(later, later), settings, today=later + DAY
    )
    assert date(2026, 3, 20) in unit.days
    assert date(2026, 3, 30) in unit.days
    assert date(2026, 3, 16) not in unit.days


def test_a_day_that_is_not_over_is_not_held_for_few_invoices(
    sandbox: Sandbox, extract: Extract
) -> None:
    """Today's invoices are not all there yet; a future day has none."""
    sandbox.fill(invoices_per_day=40)
    sandbox.set_clock(datetime.now(UTC))
    extract((today() - 80 * DAY).isoformat(), (today() - DAY).isoformat())
    for ahead in (0, 1, 6):
        day = (today() + ahead * DAY).isoformat()
        assert extract(day, day)["missing"] == 0
