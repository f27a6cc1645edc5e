"""Every reason for which something is set aside or doubted: what it means, what a person can do.

Those of dropped files stand in `drops.faults` and `creation.faults`; docs/runbook.md has a section for each.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """A code's meaning for those who read it, and the first thing to try."""

    meaning: str
    remedy: str


COMPARE = "Compare with the service; if it is right, publish with accept_suspect, else run again."

VIOLATIONS = {
    "amounts_differ": Reason(
        "total_excl_vat + total_vat is not total_incl_vat, to the cent.", COMPARE
    ),
    "duplicate_ids": Reason("The service returned the same invoice more than once.", COMPARE),
    "outside_window": Reason(
        "The service returned invoices of days that were not asked for.",
        "Check which date the range filters: BMS_INVOICE_RANGE_DATE and end_date_inclusive.",
    ),
    "end_date_excluded": Reason(
        "The service leaves end_date out of the range: the last day of each request is missing.",
        "Set end_date_inclusive to false on the connection, then run again.",
    ),
    "fewer_than_usual": Reason("A day has far fewer invoices than that weekday usually.", COMPARE),
    "drop": Reason("Invoices that stood here no longer come back, more than usual.", COMPARE),
    "currency_new": Reason("A currency this entity never had.", COMPARE),
    "currency_gone": Reason("A currency that stood in these days no longer comes back.", COMPARE),
    "many_quarantined": Reason(
        "More rows than usual can't be read.",
        "Look at bms.quarantine: a field may have changed its type; then run again.",
    ),
    "field_emptied": Reason(
        "A field that had values in the warehouse comes without any: the service may have renamed it.",
        "Compare an invoice with the service; if the field is empty there, publish with accept_suspect.",
    ),
    "field_mistyped": Reason(
        "A field has values of another type than the interface describes, which can't be read.",
        "Ask the service's owner whether the change is meant; if so, publish with accept_suspect: "
        "the values stay in _extra.",
    ),
}
"""Why days of a load of invoices are held for review."""

ROW_FAULTS = {
    "not_an_object": Reason("The row is no JSON object.", "Report it to the service's owner."),
    "missing_key": Reason("The row has no identifier.", "Report it to the service's owner."),
    "missing_money": Reason("An amount is absent or null.", "Report it to the service's owner."),
    "bad_type": Reason("A key or amount is of another type.", "Report it to the service's owner."),
    "bad_integer": Reason("A number does not fit 64 bits.", "Report it to the service's owner."),
    "bad_amount": Reason(
        "An amount has more digits than can be kept exactly.", "Report it to the service's owner."
    ),
    "bad_boolean": Reason("Neither true nor false.", "Report it to the service's owner."),
    "bad_date": Reason("A day that can't be read.", "Report it to the service's owner."),
    "bad_datetime": Reason("A time that can't be read.", "Report it to the service's owner."),
    "bad_json": Reason("A structure that can't be kept.", "Report it to the service's owner."),
    "bad_text": Reason("A text with a NUL in it.", "Correct the field in the service."),
    "duplicate_id": Reason("The same identifier came more than once; one row is loaded.", COMPARE),
}
"""What puts a single row into quarantine."""


MIRROR_REASONS = {
    "unstable": Reason(
        "Rows came and went while the list was read: no two passes agree. What was read is "
        "loaded, nothing is marked as gone.",
        "Nothing to do: the next run reads again. If it stays so, run at a quieter time.",
    ),
    "many_gone": Reason(
        "More rows than usual are gone at once. What was read is loaded, none of them is marked.",
        "Compare with the service; if they are gone there, run with accept_gone.",
    ),
}
"""What keeps a mirror's run from being complete."""


ALARMS = {
    "late": Reason(
        "No complete load within the time promised: what is shown is older than it should be.",
        "Look at the DAG in Airflow: is it paused, is a run waiting or still at work?",
    ),
    "failed": Reason(
        "A task gave up, after all its tries: this run loaded nothing, or not all.",
        "Read the end of the task's log, mend what it names, then clear the task.",
    ),
    "suspect": Reason(
        "The service answered, and a part of the answer is implausible: it is held for review.",
        "Compare with the service; if it is right, run with accept_suspect (of lists: accept_gone), "
        "else run again.",
    ),
    "unstable": Reason(
        "Rows came and went while the list was read, each time: nobody was marked as gone.",
        "Run at a quieter time of the service.",
    ),
    "partial": Reason(
        "Not all was done: rows of a drop or questions of an audit are left.",
        "Read the drop's report or the task's log: it says what is left, and why.",
    ),
    "overdue": Reason(
        "A run was started and has not ended in its time.",
        "Look what its tasks wait for: a worker, a slot of their pool (is the pool there?), the service.",
    ),
    "no_slots": Reason(
        "Tasks wait and none runs: Airflow's pool of the service is missing, or too small for one.",
        "Run the command that the message names; it makes the pool.",
    ),
    "contract_changed": Reason(
        "The service does otherwise than it was seen to do where its interface says nothing.",
        "Read the finding in bms.contract, ask the service's owner whether it is meant.",
    ),
    "setting_contradicted": Reason(
        "A setting says otherwise than the service was seen to do.",
        "Change the setting as the message says, then run service_contract again.",
    ),
    "not_reconciled": Reason(
        "The service contradicts itself, or the warehouse holds what the service doesn't say.",
        "Look which days and why in bms.reconciliation; compare one of them by hand.",
    ),
    "audit_cycle": Reason(
        "At the present pace the self-audit takes too long to compare everything once.",
        "Raise BMS_AUDIT_REQUESTS, or accept the cycle with BMS_AUDIT_CYCLE_DAYS.",
    ),
    "warehouse_unreachable": Reason(
        "The warehouse does not answer: nobody can tell how fresh anything is.",
        "Check that PostgreSQL runs and that the address and password are right.",
    ),
}
"""What people are told of without asking; docs/runbook.md has a section for each."""


AUDIT_REASONS = {
    "days_differ": Reason(
        "A month read at once is not the sum of its days.",
        "Load such days one by one (BMS_WINDOW_DAYS=1) and tell the service's owner.",
    ),
    "halves_differ": Reason(
        "A month read at once is not the sum of two halves that overlap.",
        "Lower BMS_WINDOW_DAYS and tell the service's owner.",
    ),
    "doubled": Reason(
        "The same row comes twice in one answer.",
        "Report it to the service's owner; rows are kept once here.",
    ),
    "outside_day": Reason(
        "A row of another day comes with the day asked for.",
        "Run service_contract: it says which date the range filters and whether end_date is in.",
    ),
    "languages_differ": Reason(
        "Asked in English, the service gives other rows or values than in French.",
        "Set BMS_LANGUAGE to the language that is right; tell the service's owner.",
    ),
    "page_sizes_differ": Reason(
        "A list holds other rows on small pages than on large ones.",
        "Set page_size of the connection to the one that is right; tell the service's owner.",
    ),
    "detail_differs": Reason(
        "A record's detail says otherwise than its list.",
        "Compare the record in the service; tell the service's owner.",
    ),
    "warehouse_differs": Reason(
        "The warehouse differs from the service, though it has read the rows again since.",
        "Run the flow again for these days; if it stays so, rebuild them: bms rebuild.",
    ),
    "rows_missing": Reason(
        "The service has rows that the warehouse lacks; no load has read them since.",
        "Run the flow for these days, then reconciliation. The next audit says warehouse_differs if "
        "the rows are still missing after a load.",
    ),
    "rows_differ": Reason(
        "The service has other values than the warehouse; no load has read these rows since.",
        "Nothing to do: rows change between loads. The next audit says warehouse_differs if the "
        "rows still differ after a load.",
    ),
    "rows_extra": Reason(
        "The warehouse has rows that the service no longer lists; no load has read them since.",
        "Nothing to do: the next load marks such rows as missing. The next audit says "
        "warehouse_differs if it did not.",
    ),
    "quarantined": Reason(
        "The warehouse lacks these rows because they can't be loaded: they are in bms.quarantine.",
        "Read code and field in bms.quarantine, and correct the rows in the service.",
    ),
    "detail_unreadable": Reason(
        "A record's detail can't be loaded.",
        "Read code and field of the row's detail in bms.quarantine, and correct it in the service.",
    ),
    "never_read": Reason(
        "The service has invoices of a day that no load here has read, though days around it were.",
        "Run invoice_extraction with these days; by itself each run reads some of them.",
    ),
    "budget_spent": Reason(
        "BMS_AUDIT_REQUESTS was spent before these rows were compared.",
        "Nothing to do: another audit begins elsewhere. Raise BMS_AUDIT_REQUESTS for more.",
    ),
    "not_answered": Reason(
        "The service refused or failed a question of the audit.",
        "Look at the task's log; the next audit asks again.",
    ),
}
"""Why a day is pending, not reconciled, or was not compared."""
