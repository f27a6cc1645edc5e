"""New contacts from a dropped file: each gets into the CRM once, and is never changed there.

One run for one file, as for employees: it reads the file, plans what would be created, asks a person
where the settings or the figures want it (`BMS_APPROVAL`), creates, reads back what was created,
and leaves its report under `reports/contacts/<drop>-<time>/`.

- **Known contacts** are found by e-mail address, then by mobile phone, where the name is the same
  too; the same name and company is for a person to decide. Once found, the contact's id is who it
  is: an address that changes is a change, and no new contact.
- **Changes** are not made, since the service has no operation for them: `differences.csv` and
  `bms.contact_difference` say field by field what both sides last agreed on, what was dropped and
  what the CRM has; each difference once, until it changes or is gone.

Started by `inbox_dispatch`; or by hand, with the name of a file in `inbox/contacts/`, or with the
number of a drop that is to be gone on with: a plan approved later, or lines of `needs_review.csv`
decided (`4`, `3-7, 9` or `all`: `create`, `give_up`, or the id of the contact it is; who decided is kept).
"""

from __future__ import annotations

from airflow.sdk import dag

from bms_provider import creation_flow, policy


@dag(
    schedule=None,
    doc_md=__doc__,
    params=creation_flow.params("contacts", "the id of the contact"),
    max_active_runs=policy.DROPS_AT_ONCE,
    **policy.dag_arguments("drops", "crm"),
)
def contact_creation() -> None:
    """Plan, ask, create, report."""
    creation_flow.steps("contact")


contact_creation()
