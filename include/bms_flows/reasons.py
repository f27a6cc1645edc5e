"""Every reason for which something is set aside or doubted: what it means, what a person can do.

The one place for these codes; docs/runbook.md has a section for each.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """A code's meaning for those who read it, and the first thing to try."""

    meaning: str
    remedy: str


COMPARE = "Compare with the service; if it is right, publish with accept_suspect, else run again."

BREACHES = {
    "amounts_differ": Reason(
        "total_excl_vat + total_vat is not total_incl_vat, to the cent.", COMPARE
    ),
    "duplicate_ids": Reason("The service returned the same invoice more than once.", COMPARE),
    "outside_window": Reason(
        "The service returned invoices of days that were not asked for.",
        "Check which date the range filters: BMS_INVOICE_RANGE_DATE and end_date_inclusive.",
    ),
    "fewer_than_usual": Reason("A day has far fewer invoices than that weekday usually.", COMPARE),
    "drop": Reason("Invoices that stood here no longer come back, more than usual.", COMPARE),
    "currency_new": Reason("A currency this entity never had.", COMPARE),
    "currency_gone": Reason("A currency that stood in these days no longer comes back.", COMPARE),
    "many_quarantined": Reason(
        "More rows than usual can't be read.",
        "Look at bms.quarantine: a field may have changed its type; then run again.",
    ),
}
"""What makes a load of invoices suspect."""

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
    "duplicate_id": Reason("The same identifier came twice; the first stays.", COMPARE),
}
"""What puts a single row into quarantine."""
