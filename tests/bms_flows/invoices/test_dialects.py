"""Every dialect of the service, with matching settings: byte-identical tables."""

from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.runtime.settings import FlowSettings
from bms_sandbox.dialect import Dialect
from bms_sandbox.serve import Sandbox
from tests.bms_flows.conftest import Extract
from tests.bms_flows.invoices.listed import empty_invoices, table_hash

DAYS = ("2026-03-10", "2026-03-20")

READINGS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"expires_in_unit": "milliseconds", "exp_claim": False}, {"expires_in_unit": "milliseconds"}),
    ({"expires_in_unit": "minutes", "exp_claim": False}, {"expires_in_unit": "minutes"}),
    ({"expires_in_unit": "minutes"}, {}),
    ({"token_lifetime": 1.0}, {}),
    ({"token_bearer": "secret"}, {"token_bearer_secret": "demo-secret"}),
    ({"token_bearer": "any"}, {"token_bearer_secret": "anything"}),
    ({"token_type": "JWT"}, {}),
    ({"scope_shape": "space"}, {}),
    ({"scope_shape": "missing"}, {}),
    ({"scope_shape": "empty"}, {}),
    ({"scope_shape": "address"}, {}),
    ({"one_live_token": True}, {}),
    ({"exp_claim": False}, {}),
    ({"token_status": 201}, {}),
    ({"end_date": "exclusive"}, {"end_date_inclusive": False}),
    ({"longest_range": 2}, {}),
    ({"list_order": "id_desc"}, {}),
    ({"date_format": "datetime"}, {}),
    ({"date_format": "zone"}, {}),
    ({"date_format": "ms"}, {}),
    ({"datetime_format": "datetime"}, {}),
    ({"datetime_format": "ms"}, {}),
    ({"datetime_format": "utc_ms"}, {}),
    ({"nulls": "absent"}, {}),
    ({"nulls": "year_one"}, {}),
    ({"extra_fields": True}, {}),
    ({"error_body": "problem", "longest_range": 2}, {}),
    ({"error_body": "text", "longest_range": 2}, {}),
    ({"error_body": "empty", "longest_range": 2}, {}),
    ({"default_language": "FR"}, {}),
    ({"base_path": "/tenant/api"}, {"base_path": "/tenant/api"}),
    ({"shown_forms": "canceled=bit,sent=text,id_*=text,sent_by=text"}, {}),
    ({"shown_forms": "total_*=text"}, {}),
    ({"json_text": "escaped"}, {}),
]

IRRELEVANT = {
    "granted_scopes": "what is granted is no reading of the interface",
    "time_zone": "covered by the connection's time_zone, see test_time_zone",
    "range_date": "see test_range_date",
    "rate_limit": "see test_faults: 429",
    "ignored_parameters": "see test_plausibility: a response of another entity",
    "replica_lag": "of created rows and payments",
    "retry_after": "see test_faults: 429 and 503",
    **dict.fromkeys(
        (
            "create_status",
            "created_id",
            "required_fields",
            "employee_starts_standby",
            "default_filter",
            "all_employees",
            "all_includes_deleted",
            "unknown_entity",
            "page_size_max",
            "page_size_over",
            "page_size_step",
            "past_end",
            "no_rows",
            "total_pages_counts",
            "total_pages_when_empty",
            "total_pages_rounding",
            "stored_forms",
        ),
        "not of the invoice list",
    ),
}


@pytest.fixture(scope="session")
def expected() -> dict[str, str]:
    """The hash of the default reading's table, found by the first test that needs it."""
    return {}


@pytest.mark.parametrize(("dialect", "client"), READINGS, ids=lambda given: str(given) or "-")
def test_the_table_is_the_same(
    sandbox: Sandbox,
    warehouse: Engine,
    extract: Extract,
    expected: dict[str, str],
    dialect: dict[str, Any],
    client: dict[str, Any],
) -> None:
    # Times with milliseconds are other values, which have a separate table.
    times = "ms" if "ms" in dialect.get("datetime_format", "") else "s"
    if times not in expected:
        sandbox.set_dialect(datetime_format={"ms": "ms", "s": "zone"}[times])
        extract(*DAYS)
        expected[times] = table_hash(warehouse)
        empty_invoices(warehouse)
    sandbox.set_dialect(**dialect)
    base_path = client.get("base_path", "")
    given = {name: value for name, value in client.items() if name != "base_path"}
    manifest = extract(*DAYS, base_path=base_path, **given)
    assert manifest["inserted"] == manifest["rows_read"] > 0
    assert table_hash(warehouse) == expected[times]


def test_every_gap_of_the_interface_is_thought_of() -> None:
    read = {name for dialect, _ in READINGS for name in dialect}
    assert read | IRRELEVANT.keys() == set(Dialect().as_json())


@pytest.mark.parametrize("zone", ["UTC", "America/Montreal"])
def test_time_zone(sandbox: Sandbox, warehouse: Engine, extract: Extract, zone: str) -> None:
    """Times without a zone are the service's; the setting names its zone."""
    sandbox.set_dialect(time_zone=zone, datetime_format="zone")
    extract(*DAYS)
    named = table_hash(warehouse)
    sandbox.set_dialect(datetime_format="datetime")
    assert extract(*DAYS, time_zone=zone)["changed"] == 0
    assert table_hash(warehouse) == named


@pytest.mark.parametrize("range_date", ["created_on", "due_date", "sent_on"])
def test_range_date(sandbox: Sandbox, extract: Extract, range_date: Any) -> None:
    """With the right setting, the flow loads every invoice, whatever date the range filters."""
    sandbox.set_dialect(range_date=range_date)
    settings = FlowSettings(invoice_range_date=range_date)
    first = extract(*DAYS, settings=settings)
    again = extract(*DAYS, settings=settings)
    assert first["inserted"] == again["unchanged"] > 0
    assert again["missing"] == 0
