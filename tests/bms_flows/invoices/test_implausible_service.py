"""A service that silently gives wrong rows: each kind is held against the real flow over HTTP."""

import pytest
from sqlalchemy import Engine

from bms_flows.runtime.checks import LoadHeld
from bms_sandbox.serve import Sandbox
from tests.bms_flows.conftest import Extract
from tests.bms_flows.invoices.listed import table_hash
from tests.support.sql import scalar

WEEKS = ("2026-01-05", "2026-03-15")
"""Ten weeks, from Monday to Sunday."""


@pytest.fixture
def known(sandbox: Sandbox, extract: Extract) -> None:
    """Ten weeks of a company with about 20 invoices on a working day."""
    sandbox.fill(invoices_per_day=20)
    extract(*WEEKS)


@pytest.mark.usefixtures("known")
def test_dates_in_another_form_are_held(
    sandbox: Sandbox, warehouse: Engine, extract: Extract
) -> None:
    before = table_hash(warehouse)
    sandbox.set_dialect(shown_forms="due_date=french")
    with pytest.raises(LoadHeld, match="many_quarantined"):
        extract(*WEEKS)
    assert table_hash(warehouse) == before


def test_a_volatile_field_makes_no_version_each_night(
    sandbox: Sandbox, warehouse: Engine, extract: Extract
) -> None:
    """The service adds an address whose signature changes with each response."""
    sandbox.set_dialect(shown_forms="client_name=volatile+renamed:link")
    march = ("2026-03-01", "2026-03-31")
    extract(*march)
    assert [extract(*march)["changed"] > 0 for _ in range(2)] == [True, True]
    extract(*march)
    assert extract(*march)["changed"] == 0
    details = "select details->'volatile' from bms.step_run order by id desc limit 1"
    assert scalar(warehouse, details) == ["link"]
