"""Fields without personal data, by operation.

Airflow stores XCom values as plain text and shows them: only these fields may go there. A field that
is not named here counts as personal, so that a new one never leaks.
"""

from collections.abc import Mapping
from typing import Final

_ACTIVITY: Final = {"created_on", "created_by", "modified_on", "modified_by"}

_INVOICE: Final = {
    *("id_invoice", "reference_number", "invoice_date", "due_date", "invoice_type"),
    *("invoice_type_name", "id_client", "po_number", "total_excl_vat", "total_vat"),
    *("total_incl_vat", "total_due", "currency", "payment_mode", "payment_mode_name", "status"),
    *("status_name", "id_account_manager", "created_on", "created_by", "canceled", "canceled_on"),
    *("canceled_by", "id_credit", "sent", "sent_on", "sent_by"),
}
_EMPLOYEE_ITEM: Final = {
    *_ACTIVITY,
    *("validated_on", "validated_by", "guid_employee", "id_employee", "reference_number"),
    *("is_standby", "department_code", "department_service", "category_code"),
    *("is_salesperson", "is_consultant"),
}
_EMPLOYEE: Final = {
    *_EMPLOYEE_ITEM,
    *("affiliated_company", "id_manager", "contract_type_code", "status_code", "status_position"),
    *("status_factor", "has_timesheets", "timesheets_frequency_code", "has_portal_access"),
    *("exclude_from_directory", "meal_vouchers_count", "use_vehicle", "vehicle_type_code"),
    *("vehicle_tax_horsepower_code", "vehicle_price_per_km", "has_overtime", "id_entity"),
}
_CONTACT: Final = {
    *_ACTIVITY,
    *("deleted_on", "deleted_by", "id", "exclude_from_emailing", "send_greetings_card", "is_lead"),
    *("origin", "signal", "id_client", "id_account_manager", "deleted"),
}
_CONSULTANT: Final = {
    *_ACTIVITY,
    *("id", "type", "currency", "no_emails", "no_sms", "id_client", "active"),
}

NON_PERSONAL: Final[Mapping[str, frozenset[str]]] = {
    "list_client_invoices": frozenset(_INVOICE),
    "list_employees": frozenset(_EMPLOYEE_ITEM),
    "read_employee": frozenset(_EMPLOYEE),
    "list_contacts": frozenset({*_CONTACT, "actif"}),
    "read_contact": frozenset({*_CONTACT, "active", "domains"}),
    "list_consultants": frozenset(_CONSULTANT),
    "read_consultant": frozenset(_CONSULTANT),
}
"""Names of the fields, by operation."""


def non_personal(operation: str) -> frozenset[str]:
    """Return the fields without personal data; without a row above, identifiers and activity only."""
    if operation in NON_PERSONAL:
        return NON_PERSONAL[operation]
    from bms.records import BY_OPERATION  # noqa: PLC0415 - operators import only the client's tables

    names = BY_OPERATION[operation].__struct_fields__
    return frozenset(
        n for n in names if n == "id" or n.startswith(("id_", "guid_")) or n in _ACTIVITY
    )
