"""Fields whose type or name the service changes: coerced, or held for review, never blanked."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.invoices.planning import held_loads
from bms_flows.runtime.checks import LoadHeld
from bms_sandbox.serve import Sandbox
from tests.bms_flows.conftest import Extract
from tests.bms_flows.invoices.listed import table_hash
from tests.bms_flows.invoices.test_acceptance import accepted
from tests.support.sql import scalar

MARCH = ("2026-03-01", "2026-03-31")
OTHER_TYPES = "canceled=bit,sent=number,id_client=text,id_account_manager=text"


def details(warehouse: Engine) -> dict[str, Any]:
    return dict(scalar(warehouse, "select details from bms.step_run order by id desc limit 1"))


def test_other_types_with_one_reading_change_nothing_and_are_counted(
    sandbox: Sandbox, warehouse: Engine, extract: Extract
) -> None:
    extract(*MARCH)
    before = table_hash(warehouse)
    sandbox.set_dialect(shown_forms=OTHER_TYPES)
    again = extract(*MARCH)
    assert (again["changed"], again["unchanged"]) == (0, again["rows_read"])
    assert table_hash(warehouse) == before
    coerced = details(warehouse)["fields"]["coerced"]
    assert [coerced[name] for name in ("canceled", "sent", "id_client")] == 3 * [again["rows_read"]]


@pytest.mark.parametrize(
    ("forms", "code", "field"),
    [
        ("sent=renamed:est_envoyee", "field_emptied", "sent"),
        ("id_client=absent", "field_emptied", "id_client"),
        ("currency=null", "field_emptied", "currency"),
        ("*_on=null", "field_emptied", "created_on"),
        ("id_client=text+zeros:9", "field_mistyped", "id_client"),  # may be a code
    ],
)
def test_a_field_without_values_or_with_an_ambiguous_type_holds_the_load(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, forms: str, code: str, field: str
) -> None:
    extract(*MARCH)
    before = table_hash(warehouse)
    sandbox.set_dialect(shown_forms=forms)
    with pytest.raises(LoadHeld, match=rf"{code} \({field}: (lost|of another type) in"):
        extract(*MARCH)
    assert table_hash(warehouse) == before
    held = details(warehouse)
    assert held["fields"]["missing" if code == "field_emptied" else "mistyped"][field] > 0
    assert code in held["violations"]


def test_dates_in_another_form_hold_the_load(
    sandbox: Sandbox, warehouse: Engine, extract: Extract
) -> None:
    extract(*MARCH)
    before = table_hash(warehouse)
    sandbox.set_dialect(shown_forms="due_date=french")
    with pytest.raises(LoadHeld, match="many_quarantined"):
        extract(*MARCH)
    assert table_hash(warehouse) == before


def test_a_volatile_field_makes_no_version_each_night(
    sandbox: Sandbox, warehouse: Engine, extract: Extract
) -> None:
    """The service adds an address whose signature changes with each response."""
    sandbox.set_dialect(shown_forms="client_name=volatile+renamed:link")
    first, *nights = [extract(*MARCH)["changed"] > 0 for _ in range(5)]
    assert (first, nights) == (False, [True, True, True, False])
    assert details(warehouse)["volatile"] == ["link"]


@pytest.mark.parametrize("forms", ["sent=renamed:est_envoyee", "id_client=text+zeros:9"])
def test_new_days_are_compared_with_recent_ones(
    sandbox: Sandbox, extract: Extract, forms: str
) -> None:
    """None of the invoices was there before, so no row shows that a field had a value."""
    sandbox.fill(invoices_per_day=20)
    extract("2026-03-16", "2026-03-29")
    sandbox.set_dialect(shown_forms=forms)
    with pytest.raises(LoadHeld, match="field_"):
        extract("2026-03-30", "2026-03-30")


@pytest.mark.parametrize("forms", ["sent=renamed:est_envoyee", "id_client=text+zeros:9"])
def test_a_field_that_was_accepted_without_values_is_not_held_again(
    sandbox: Sandbox, warehouse: Engine, extract: Extract, tmp_path: Path, forms: str
) -> None:
    """Neither the same days again, nor new ones, nor days that the rotation reads months later."""
    field = forms.split("=", maxsplit=1)[0]
    sandbox.fill(invoices_per_day=20)
    extract("2026-03-01", "2026-03-24")
    sandbox.set_dialect(shown_forms=forms)
    with pytest.raises(LoadHeld, match=f"{field}: (lost|of another type) in"):
        extract("2026-03-16", "2026-03-25")
    for unit in held_loads(warehouse, [1]):
        assert accepted(warehouse, tmp_path, unit)
    assert extract("2026-03-16", "2026-03-25")["changed"] == 0
    assert extract("2026-03-26", "2026-03-27")["inserted"] > 0
    assert extract("2026-03-01", "2026-03-15")["changed"] > 0
    assert scalar(warehouse, f"select count({field}) from bms.client_invoice") == 0


def test_a_value_that_single_invoices_lose_is_a_change_like_any_other(
    sandbox: Sandbox, extract: Extract
) -> None:
    extract(*MARCH)
    first, *_ = rows = sandbox.invoices(1, date(2026, 3, 2), date(2026, 3, 13))
    lost = [row for row in rows if row["po_number"]][:5] or [first]
    for row in lost:
        sandbox.edit_invoice(1, row["id_invoice"], po_number=None)
    assert extract(*MARCH)["changed"] == sum(row["po_number"] is not None for row in lost)
