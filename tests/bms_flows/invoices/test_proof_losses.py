"""What a loss of new or stored days is compared with, and the limit of what can be noticed."""

from datetime import date

import pytest

from bms_flows.runtime.checks import LoadHeld
from bms_sandbox.serve import Sandbox
from tests.bms_flows.conftest import Extract

TEN_WEEKS = ("2026-01-04", "2026-03-14")
MONDAY = "2026-03-16"


@pytest.fixture
def known(sandbox: Sandbox, extract: Extract) -> None:
    """Ten weeks of a company with about 40 invoices on a working day."""
    sandbox.fill(invoices_per_day=40)
    extract(*TEN_WEEKS)


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
