"""Reason codes of violations, invalid rows, mirrors, alarms and audits, with meaning and remedy.

The codes of dropped files are in `onboarding.faults`. docs/runbook.md has a section for each code.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """The meaning of a code, and the first remedy to try."""

    meaning: str
    remedy: str


COMPARE = "Compare with the service. If the service is right, publish with accept_suspect, else run again."
REPORT = "Report it to the service's owner."

VIOLATIONS = {
    "amounts_differ": Reason(
        "total_excl_vat + total_vat differs from total_incl_vat by a cent or more.", COMPARE
    ),
    "duplicate_ids": Reason("The service returned the same invoice more than once.", COMPARE),
    "outside_window": Reason(
        "The service returned invoices of days that were not requested.",
        "Check which date the range filters: BMS_INVOICE_RANGE_DATE and end_date_inclusive.",
    ),
    "end_date_excluded": Reason(
        "The service excludes end_date from the range: the last day of each request is missing.",
        "Set end_date_inclusive to false on the connection, then run again.",
    ),
    "fewer_than_usual": Reason("A day has far fewer invoices than usual on its weekday.", COMPARE),
    "drop": Reason("More stored invoices than usual are missing from the response.", COMPARE),
    "more_than_usual": Reason("A day has far more invoices than usual.", COMPARE),
    "other_entity": Reason(
        "The rows equal rows of another entity: the service may ignore id_entity.",
        "Compare the entities in the service. If both really have these rows, publish with accept_suspect.",
    ),
    "reference_repeated": Reason(
        "More new invoices than usual repeat the reference of another invoice.", COMPARE
    ),
    "many_changed": Reason("More stored rows than usual changed at once.", COMPARE),
    "many_deleted": Reason("More rows than usual are marked as deleted at once.", COMPARE),
    "one_client": Reason("More new invoices than usual belong to one client.", COMPARE),
    "sign_unusual": Reason("More new amounts than usual are negative.", COMPARE),
    "amounts_unusual": Reason(
        "The amounts of new rows are of another magnitude than usual.", COMPARE
    ),
    "currency_new": Reason("The entity never had this currency before.", COMPARE),
    "currency_gone": Reason(
        "The stored invoices of these days have a currency that the response lacks.", COMPARE
    ),
    "many_quarantined": Reason(
        "More rows than usual are invalid.",
        "Check bms.quarantine: a field may have changed its type. Then run again.",
    ),
    "field_emptied": Reason(
        "A field that had values in the warehouse is empty: the service may have renamed it.",
        "Compare an invoice with the service. If the field is empty there, publish with accept_suspect.",
    ),
    "field_mistyped": Reason(
        "A field has unreadable values of another type than the interface describes.",
        "Ask the service's owner whether the change is intended. If so, publish with accept_suspect: "
        "the values stay in _extra.",
    ),
}
"""Failed checks that hold days of an invoice load for review."""

ROW_FAULTS = {
    "not_an_object": Reason("The row is not a JSON object.", REPORT),
    "missing_key": Reason("The row has no identifier.", REPORT),
    "missing_money": Reason("An amount is absent or null.", REPORT),
    "bad_type": Reason("A key or an amount has another type than the interface describes.", REPORT),
    "bad_integer": Reason("A number does not fit 64 bits.", REPORT),
    "bad_amount": Reason("An amount has too many digits to be stored exactly.", REPORT),
    "bad_boolean": Reason("A value is neither true nor false.", REPORT),
    "bad_date": Reason("A date can't be read.", REPORT),
    "bad_datetime": Reason("A date-time can't be read.", REPORT),
    "bad_json": Reason("A structure can't be stored.", REPORT),
    "bad_text": Reason("A text contains a NUL character.", "Correct the field in the service."),
    "forbidden": Reason(
        "The service forbids reading the detail of a row that its list contains (403).",
        "Ask the service's owner for the right to read the record.",
    ),
    "unavailable": Reason(
        "The service does not return the detail of this row: an error, or an unreadable response.",
        REPORT,
    ),
    "other_record": Reason("The detail has the identifier of another row.", REPORT),
    "duplicate_id": Reason(
        "The same identifier appears more than once; one of the rows is loaded.", COMPARE
    ),
}
"""Reasons that put a single row into quarantine."""


MIRROR_REASONS = {
    "unstable": Reason(
        "The list kept changing during the read: no two passes agree. The rows read are loaded; no "
        "row is marked as missing.",
        "Nothing to do: the next run reads again. If the alarm stays open, schedule the DAG for an hour with fewer changes.",
    ),
    "many_gone": Reason(
        "More rows than usual are missing at once. The rows read are loaded; no row is marked as "
        "missing.",
        "Compare with the service. If the rows are deleted there, run with accept_gone.",
    ),
}
"""Reasons why a mirror's run is not complete."""


ALARMS = {
    "late": Reason(
        "No complete load within the freshness target: the data are older than they should be.",
        "Check the DAG in Airflow: is the DAG paused, is a run queued or still running? Does the connection "
        "still name the entity? An entity that was removed is expected for 30 days. For a flow that is not "
        "used, set it to off in BMS_FRESH_HOURS.",
    ),
    "failed": Reason(
        "A task failed after all retries: the run loaded nothing, or only a part.",
        "Read the end of the task's log, fix the cause, then clear the task.",
    ),
    "suspect": Reason(
        "A part of the response is implausible and is held for review.",
        "Compare with the service. If the service is right, run with accept_suspect (lists: "
        "accept_gone), else run again.",
    ),
    "unstable": Reason(
        "The list kept changing during each read: no row was marked as missing.",
        "Schedule the DAG for an hour with fewer changes.",
    ),
    "rows_stay_invalid": Reason(
        "Three loads in a row could not store these rows: the warehouse keeps their former state.",
        "Correct the field in the service, or accept the rows: bms accept-invalid.",
    ),
    "partial": Reason(
        "Work is left: rows of a drop, or requests of an audit.",
        "Read the drop's report, or the task's log, for what is left and why.",
    ),
    "overdue": Reason(
        "A run has not ended within its time limit.",
        "Check what its tasks wait for: a worker, a slot of their pool (does the pool exist?), the service.",
    ),
    "approval_waits": Reason(
        "No approver has answered a request: the rows of the drop are not created, and the plan "
        "is rejected when the request expires.",
        "Open the run in Airflow, read the plan, and approve or reject it.",
    ),
    "no_slots": Reason(
        "Tasks wait and none runs: Airflow's pool for the service is missing or too small.",
        "Run the command in the message; it creates the pool.",
    ),
    "contract_changed": Reason(
        "The service's behaviour changed at a point that the interface leaves open.",
        "Read the finding in bms.contract, and ask the service's owner whether the change is intended.",
    ),
    "setting_contradicted": Reason(
        "A setting contradicts the service's observed behaviour.",
        "Change the setting as shown in the message, then run service_contract again.",
    ),
    "not_reconciled": Reason(
        "The service contradicts itself, or the warehouse differs from the service.",
        "Check the days and reasons in bms.reconciliation; compare one day by hand.",
    ),
    "audit_cycle": Reason(
        "At the current rate, the self-audit takes too long to compare everything once.",
        "Raise BMS_AUDIT_REQUESTS, or raise BMS_AUDIT_CYCLE_DAYS to accept the cycle.",
    ),
    "warehouse_unreachable": Reason(
        "The warehouse does not answer: the freshness of the data is unknown.",
        "Check that PostgreSQL runs and that the address and password are right.",
    ),
}
"""Reasons of alarms."""


AUDIT_REASONS = {
    "days_differ": Reason(
        "A month read in one request is not the sum of its days.",
        "Load these days one by one (BMS_WINDOW_DAYS=1) and inform the service's owner.",
    ),
    "halves_differ": Reason(
        "A month read in one request is not the sum of two overlapping halves.",
        "Lower BMS_WINDOW_DAYS and inform the service's owner.",
    ),
    "doubled": Reason(
        "One response contains the same row twice.",
        "Report it to the service's owner; the warehouse stores each row once.",
    ),
    "outside_day": Reason(
        "The response for a day contains a row of another day.",
        "Run service_contract: it finds which date the range filters and whether end_date is included.",
    ),
    "languages_differ": Reason(
        "Requests in English return other rows or values than requests in French.",
        "Set BMS_LANGUAGE to the correct language, and inform the service's owner.",
    ),
    "page_sizes_differ": Reason(
        "A list returns other rows on small pages than on large ones.",
        "Set page_size of the connection to the correct size, and inform the service's owner.",
    ),
    "detail_differs": Reason(
        "A record's detail differs from its list row.",
        "Compare the record in the service, and inform the service's owner.",
    ),
    "warehouse_differs": Reason(
        "The warehouse differs from the service, although a load has read the rows again since.",
        "Run the flow again for these days. If the difference stays, rebuild them: bms rebuild.",
    ),
    "rows_missing": Reason(
        "The service has rows that the warehouse lacks; no load has read them since.",
        "Run the flow for these days, then reconciliation. The next audit reports warehouse_differs if "
        "the rows are still missing after a load.",
    ),
    "rows_differ": Reason(
        "The service has other values than the warehouse; no load has read these rows since.",
        "Nothing to do: rows change between loads. The next audit reports warehouse_differs if the "
        "rows still differ after a load.",
    ),
    "rows_extra": Reason(
        "The warehouse has rows that the service no longer lists; no load has read them since.",
        "Nothing to do: the next load marks these rows as missing. The next audit reports "
        "warehouse_differs if it did not.",
    ),
    "quarantined": Reason(
        "The warehouse lacks these rows because they are invalid: they are in bms.quarantine.",
        "Read code and field in bms.quarantine, and correct the rows in the service.",
    ),
    "detail_unreadable": Reason(
        "A record's detail is invalid, or the service does not return it.",
        "Read code and field of the row's detail in bms.quarantine, and correct it in the service.",
    ),
    "never_read": Reason(
        "The service has invoices of a day that no load has read, although loads have read days "
        "around it.",
        "Run invoice_extraction with these days, or wait: each run reads some of them.",
    ),
    "budget_spent": Reason(
        "The audit's request budget (BMS_AUDIT_REQUESTS) was spent before these rows were compared.",
        "Nothing to do: the next audit continues elsewhere. Raise BMS_AUDIT_REQUESTS for more.",
    ),
    "not_answered": Reason(
        "The service refused or failed a request of the audit.",
        "Check the task's log; the next audit requests it again.",
    ),
}
"""Reasons why days or lists are pending, not reconciled, or not compared."""
