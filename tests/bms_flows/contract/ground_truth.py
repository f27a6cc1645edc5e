"""Ground truth of a dialect: the only correct value of each finding, None if there is none."""

from datetime import date
from typing import Any

from bms.client import Client
from bms.settings import ClientSettings
from bms_flows.contract.finding import ContractFinding
from bms_flows.contract.probe import Probe
from bms_flows.runtime.settings import FlowSettings
from bms_sandbox.dialect import Dialect
from bms_sandbox.invoices import PAYMENT_NAMES, STATUS_NAMES, TYPE_NAMES
from bms_sandbox.serve import Sandbox

TODAY = date(2026, 3, 31)

ERROR_BODIES = {
    "json": "json: code, errors, message",
    "problem": "problem: detail, errors, status, title, type",
    "text": "text",
    "empty": "empty",
}
CODES = {
    "codes_client_invoice_currency": {"EUR", "USD", "CHF"},
    "codes_client_invoice_invoice_type": TYPE_NAMES.keys(),
    "codes_client_invoice_payment_mode": PAYMENT_NAMES.keys(),
    "codes_client_invoice_status": STATUS_NAMES.keys(),
    "codes_consultant_currency": {"EUR"},
    "codes_consultant_type": {"FREELANCE", "EMPLOYEE", "SUBCONTRACTOR"},
    "codes_contact_origin": {"SALON", "WEB", "RECOMMANDATION"},
    "codes_employee_category_code": {"CADRE", "ETAM"},
    "codes_employee_salutation_code": {"M", "MME"},
}
WRITTEN = {"datetime": "none", "ms": "none", "zone": "offset", "utc_ms": "Z"}


async def probed(
    client_settings: ClientSettings, settings: FlowSettings | None = None
) -> dict[str, ContractFinding]:
    """Return the findings of one probe by name."""
    async with Client(client_settings) as client:
        probe = Probe(client, [1, 2], settings or FlowSettings(), TODAY)
        findings = await probe.run()
    assert len({each.name for each in findings}) == len(findings)
    return {each.name: each for each in findings}


def ground_truth(dialect: Dialect) -> dict[str, Any]:
    """Return the correct value of each finding for a dialect with 250 contacts."""
    limit = dialect.page_size_max
    past = {"empty": "empty", "last_page": "last_page", "not_found": "refused"}[dialect.past_end]
    extra = ["x_labels", "x_revision"] if dialect.extra_fields else []
    return {
        "expires_in_unit": dialect.expires_in_unit,
        "page_size_limit": {
            "rows": limit,
            "beyond": {"clamp": "clamped", "clamp_rows": "clamped", "refuse": "refused"}[
                dialect.page_size_over
            ],
        }
        if limit
        else None,
        "past_end": {"answer": past} | ({"status": 404} if past == "refused" else {}),
        "sort_stability": "stable",
        "list_order": {"id": "id", "id_desc": "id_desc"}.get(dialect.list_order, "not_by_id"),
        "default_filter": dialect.default_filter,
        "invoice_range_date": dialect.range_date,
        "end_date": dialect.end_date,
        "datetime_zone": [WRITTEN[dialect.datetime_format]],
        "offsets": {
            "Europe/Paris": ["+01:00", "+02:00"],
            "UTC": ["+00:00"],
            "Asia/Tokyo": ["+09:00"],
            "Pacific/Auckland": ["+12:00", "+13:00"],
        }[dialect.time_zone],
        "error_unknown_id": {"status": 404, "body": ERROR_BODIES[dialect.error_body]},
        "error_missing_parameter": {"status": 422, "body": ERROR_BODIES[dialect.error_body]},
        "error_no_token": {"status": 401, "body": ERROR_BODIES[dialect.error_body]},
    } | {
        f"undocumented_{operation}": extra
        for operation in (
            *("list_client_invoices", "list_contacts", "list_consultants", "list_employees"),
            *("read_contact", "read_consultant", "read_employee"),
        )
    }


def wrong(found: dict[str, ContractFinding], dialect: Dialect) -> dict[str, tuple[Any, Any]]:
    """Return the wrong findings: the found and the expected value."""
    expected = ground_truth(dialect)
    return {
        name: (finding.value, expected.get(name))
        for name, finding in found.items()
        if finding.known
        and (
            not {*CODES[name]}.issuperset(finding.value)
            if name in CODES
            else finding.value != expected[name]
        )
    }


def set_dialect(sandbox: Sandbox, **readings: Any) -> Dialect:
    """Set and return the sandbox's dialect."""
    sandbox.set_dialect(**readings)
    return Dialect().changed(readings)
