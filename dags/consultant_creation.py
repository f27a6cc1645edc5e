"""New consultants from a dropped file: each gets into the CRM once, and is never changed there.

One run for one file, as for employees: it reads the file, plans what would be created, asks a person
where the settings or the figures want it (`BMS_APPROVAL`), creates, reads back what was created,
and leaves its report under `reports/consultants/<drop>/`.

Known consultants are found by e-mail address, then by mobile phone, where the name is the same
too; the same name and year of birth is for a person to decide. Once found, the consultant's id is
who it is. What differs is in `needs_review.csv`, to be changed in the service by hand.

Started by `inbox_dispatch`; or by hand, with the name of a file in `inbox/consultants/`, or with
the number of a drop that is to be gone on with: a plan approved later, or a line of
`needs_review.csv` decided (`create`, `give_up`, or the id of the consultant it is; who decided is
kept).
"""

from __future__ import annotations

from airflow.sdk import dag

from bms_provider import creation_flow, policy


@dag(
    schedule=None,
    doc_md=__doc__,
    params=creation_flow.params("consultants", "the id of the consultant"),
    max_active_runs=policy.DROPS_AT_ONCE,
    **policy.dag_arguments("drops", "crm"),
)
def consultant_creation() -> None:
    """Plan, ask, create, report."""
    creation_flow.steps("consultant")


consultant_creation()
