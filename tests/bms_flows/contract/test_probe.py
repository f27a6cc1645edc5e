"""Tests of the probe against the sandbox's dialects: each finding is correct or undetermined."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from bms.settings import ClientSettings
from bms_flows.runtime.settings import FlowSettings
from bms_sandbox.dialect import SCOPES, Dialect
from bms_sandbox.serve import Sandbox
from tests.bms_flows.contract.ground_truth import probed, set_dialect, wrong

FIGURES: dict[str, list[Any]] = {
    "token_lifetime": [1.0, 45.0, 90.0, 1800.0, 86_400.0],
    "token_type": ["jwt"],
    "granted_scopes": [["read:employee"], ["read:contact", "read:invoice_client"]],
    "longest_range": [1, 2, 3, 7, 31],
    "page_size_max": [1, 4, 10, 50, 99, 100, 500, 1000],
    "time_zone": ["UTC", "Asia/Tokyo", "Pacific/Auckland"],
    "rate_limit": [40.0],
    "page_size_step": [50],
    "replica_lag": [60.0],
    "ignored_parameters": [["list_employees.id_entity"]],
    "stored_forms": [["last_name=upper"]],
    "shown_forms": [["id_client=text", "canceled=bit"], ["client_name=null", "postal_code=padded"]],
    "base_path": ["/tenant/api"],
}
MIXED: list[dict[str, Any]] = [
    {"page_size_max": 7, "page_size_over": "refuse", "past_end": "not_found"},
    {"page_size_max": 500, "page_size_over": "refuse"},
    {"page_size_max": 250, "past_end": "last_page", "list_order": "name"},
    {"range_date": "due_date", "end_date": "exclusive", "date_format": "zone"},
    {"range_date": "created_on", "end_date": "exclusive", "datetime_format": "utc_ms"},
    {"range_date": "sent_on", "end_date": "exclusive", "time_zone": "Pacific/Auckland"},
    {"range_date": "sent_on", "datetime_format": "datetime", "time_zone": "Asia/Tokyo"},
    {"longest_range": 2, "end_date": "exclusive", "list_order": "id_desc"},
    {"longest_range": 1, "end_date": "exclusive"},
    {"expires_in_unit": "minutes", "exp_claim": False},
    {"expires_in_unit": "milliseconds", "token_lifetime": 45.0},
    {"expires_in_unit": "minutes", "token_lifetime": 30.0},
    {"nulls": "absent", "extra_fields": True, "error_body": "problem"},
    {"default_filter": "ALL", "unknown_entity": "not_found"},
]
ENTERED_LATE = {
    "id_entity": 1,
    "invoice_date": "2026-03-10",
    "created_on": "2026-03-20T10:00:00+00:00",
}


def readings() -> list[dict[str, Any]]:
    """Return every option of every dialect setting, and some combinations."""
    kinds = get_type_hints(Dialect)
    found: list[dict[str, Any]] = [{}]
    for gap in fields(Dialect):
        kind = kinds[gap.name]
        values: Sequence[Any] = get_args(kind) if get_origin(kind) is not tuple else ()
        values = [True, False] if kind is bool else values or FIGURES[gap.name]
        found += [{gap.name: value} for value in values if value != gap.default]
    return found + MIXED


READINGS = readings()
"""Made on import: a setting without `FIGURES` fails each test, not just the proof."""


def settings_for(client_settings: ClientSettings, dialect: Dialect) -> ClientSettings:
    """Return the client settings that the dialect requires."""
    return replace(
        client_settings,
        base_url=client_settings.base_url + dialect.base_path,
        token_bearer_secret=None if dialect.token_bearer == "none" else client_settings.secret,
    )


@pytest.mark.prove
async def test_never_wrong_in_any_dialect(
    sandbox: Sandbox, client_settings: ClientSettings
) -> None:
    known, unknown = Counter[str](), Counter[str]()
    for reading in READINGS:
        sandbox.reset()
        sandbox.insert_invoice(**ENTERED_LATE)
        dialect = set_dialect(sandbox, **reading)
        found = await probed(settings_for(client_settings, dialect))
        assert wrong(found, dialect) == {}, reading
        known.update(name for name, each in found.items() if each.known)
        unknown.update(name for name, each in found.items() if not each.known)
    print(f"\n{len(READINGS)} dialects")  # noqa: T201 -- the table of docs/proof.md
    for name in sorted({*known, *unknown}):
        print(f"| `{name}` | {known[name]} | {unknown[name]} |")  # noqa: T201


async def test_the_default_dialect_leaves_only_what_its_data_hides_undetermined(
    client_settings: ClientSettings,
) -> None:
    found = await probed(client_settings)
    assert wrong(found, Dialect()) == {}
    hidden = {name for name, each in found.items() if not each.known}
    # 250 contacts fit on one page; every invoice is entered on its own date.
    assert hidden == {"page_size_limit", "invoice_range_date", "codes_contact_signal"}
    assert "invoice_date and created_on" in found["invoice_range_date"].summary


@pytest.mark.parametrize("range_date", ["invoice_date", "created_on"])
async def test_an_invoice_entered_days_after_its_date_reveals_the_filtered_date(
    sandbox: Sandbox, client_settings: ClientSettings, range_date: str
) -> None:
    sandbox.insert_invoice(**ENTERED_LATE)
    dialect = set_dialect(sandbox, range_date=range_date)
    found = await probed(client_settings)
    assert found["invoice_range_date"].value == range_date
    assert wrong(found, dialect) == {}
    wrongly_set = await probed(client_settings, FlowSettings(invoice_range_date="due_date"))
    assert f"set BMS_INVOICE_RANGE_DATE to {range_date}" in str(
        wrongly_set["invoice_range_date"].advice
    )


async def test_a_finding_names_the_setting_to_change(
    sandbox: Sandbox, client_settings: ClientSettings
) -> None:
    set_dialect(
        sandbox,
        expires_in_unit="minutes",
        page_size_max=60,
        page_size_over="refuse",
        end_date="exclusive",
        range_date="due_date",
    )
    found = await probed(client_settings)
    advice = {name: each.advice for name, each in found.items() if each.advice}
    assert advice == {
        "expires_in_unit": "It is seconds: set expires_in_unit to minutes.",
        "page_size_limit": "It is 100: set page_size to 60.",
        "end_date": "It is true: set end_date_inclusive to false.",
        "invoice_range_date": "It is invoice_date, which is wrong: "
        "set BMS_INVOICE_RANGE_DATE to due_date.",
    }
    assert all(found[name].setting for name in advice)


async def test_an_empty_service_gives_no_wrong_finding(
    sandbox: Sandbox, client_settings: ClientSettings
) -> None:
    sandbox.fill(contacts=0, consultants=0, employees=0, invoices_per_day=0)
    for reading in ({"past_end": "last_page"}, {"page_size_max": 5, "total_pages_when_empty": 1}):
        dialect = set_dialect(sandbox, **reading)
        assert wrong(await probed(client_settings), dialect) == {}


async def test_the_probe_only_reads(sandbox: Sandbox, client_settings: ClientSettings) -> None:
    before = {name: sandbox.rows(name) for name in ("contacts", "consultants", "employees")}
    await probed(client_settings)
    assert {name: sandbox.rows(name) for name in before} == before
    asked = sandbox.truth()["requests"]
    assert asked["list_contacts"]
    assert [name for name in asked if name.startswith("create")] == []


async def test_a_missing_scope_leaves_its_questions_undetermined(
    sandbox: Sandbox, client_settings: ClientSettings
) -> None:
    set_dialect(sandbox, granted_scopes=[each for each in SCOPES if "contact" not in each])
    found = await probed(client_settings)
    assert found["page_size_limit"].summary == "Undetermined: the question failed (MissingScope)."
    assert found["default_filter"].known


@pytest.mark.parametrize("kind", ["429", "503", "reset_after_read", "token_revoked"])
async def test_a_transient_fault_changes_no_finding(
    sandbox: Sandbox, client_settings: ClientSettings, kind: str
) -> None:
    sandbox.set_fault(kind, operation="list_*", count=4, probability=0.3, retry_after=0)
    found = await probed(client_settings)
    assert wrong(found, Dialect()) == {}
    assert found["default_filter"].known
    assert sandbox.truth()["faults"]


@pytest.mark.parametrize("operation", ["list_client_invoices", "list_employees"])
async def test_a_body_that_is_no_json_is_no_empty_list(
    sandbox: Sandbox, client_settings: ClientSettings, operation: str
) -> None:
    """As from a gateway during maintenance, at any request of a question."""
    for after in range(12):
        sandbox.clear_faults()
        sandbox.set_fault("malformed_json", operation, after=after, count=2)
        found = await probed(client_settings)
        assert wrong(found, Dialect()) == {}
        assert not any(each.advice for each in found.values())
