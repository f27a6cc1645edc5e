"""Losses in days that were never loaded: compared with the usual count of the weekday."""

from datetime import date
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.runtime.checks import LoadHeld
from bms_sandbox.serve import Sandbox
from tests.bms_flows.conftest import Extract
from tests.support.sql import scalar

TEN_WEEKS = ("2026-01-04", "2026-03-14")
MONDAY = "2026-03-16"


@pytest.fixture
def known(sandbox: Sandbox, extract: Extract) -> dict[str, Any]:
    """Ten weeks of a company with about 40 invoices on a working day."""
    sandbox.fill(invoices_per_day=40)
    return extract(*TEN_WEEKS)


@pytest.mark.parametrize("loss", ["empty_list", "missing_day"])
@pytest.mark.usefixtures("known")
def test_an_empty_new_day_is_held(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, loss: str
) -> None:
    sandbox.set_fault(loss, operation="list_client_invoices", count=1)
    with pytest.raises(LoadHeld, match="fewer_than_usual"):
        extract(MONDAY, MONDAY)
    stored = f"select count(*) from bms.client_invoice where _day = '{MONDAY}'"
    assert scalar(warehouse, stored) == 0
    assert extract(MONDAY, MONDAY)["inserted"] > 0, "the next try finds it"


@pytest.mark.usefixtures("known")
def test_half_of_a_new_day_is_not_noticed_and_comes_with_the_next_read(
    sandbox: Sandbox, extract: Extract
) -> None:
    """The limit of what can be known: a day of half the usual volume is a day like others."""
    sandbox.set_fault("short_list", operation="list_client_invoices", count=1)
    half = extract(MONDAY, MONDAY)["inserted"]
    later = extract(MONDAY, MONDAY)
    assert (later["unchanged"], later["changed"]) == (half, 0)
    assert later["inserted"] >= half


@pytest.mark.usefixtures("known")
def test_one_missing_weekend_day_of_a_week_that_stood_is_noticed(
    sandbox: Sandbox, extract: Extract
) -> None:
    """Few of the week's invoices, so no drop of the week: but the whole of its day."""
    saturday = date(2026, 3, 7)
    for row in sandbox.invoices(1, saturday, saturday):
        sandbox.delete_invoice(1, row["id_invoice"])
    with pytest.raises(LoadHeld, match="on 2026-03-07"):
        extract("2026-03-02", "2026-03-08")
