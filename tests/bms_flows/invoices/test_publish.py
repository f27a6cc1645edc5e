"""A load is published when each of its rows is accounted for, or not at all."""

from datetime import date

import pytest
from sqlalchemy import Engine, text

from bms_flows.invoices.load import Load
from bms_flows.invoices.merging import Languages, Merging
from bms_flows.invoices.plan import Unit
from bms_flows.invoices.publish import NotBalanced, publish
from bms_flows.invoices.window import Window
from bms_flows.runs import Counts

UNIT = Unit(1, (Window(date(2026, 3, 2), date(2026, 3, 6)),))


@pytest.mark.parametrize(
    "counts", [Counts(rows_read=1), Counts(unchanged=1), Counts(quarantined=2)]
)
def test_rows_that_do_not_add_up_are_not_published(warehouse: Engine, counts: Counts) -> None:
    with warehouse.begin() as connection:
        load = Load(connection, 1, "Europe/Paris", "invoice_date", counts)
        merging = Merging(connection, 1, Languages("FR", "FR"))
        with pytest.raises(NotBalanced, match="entity 1"):
            publish(load, merging, UNIT)
    with warehouse.connect() as connection:
        assert not connection.scalar(text("select count(*) from bms.client_invoice_day"))
