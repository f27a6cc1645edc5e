"""Creates contacts in the CRM from a dropped file, each at most once.

One run handles one file:

1. It reads the file and plans which contacts to create.
2. It asks for approval if `BMS_APPROVAL` or the limits require it.
3. It creates the approved contacts and reads them back.
4. It writes a report to `reports/contacts/<drop>-<time>/`.

- **Matching**: a row matches an existing contact if the name and the e-mail address agree, or the
  name and the mobile phone. If only the name and the company agree, a reviewer decides. After the
  first match, the contact's id identifies the row: a new e-mail address is a change, not a new contact.
- **No updates**: the service has no update operation. `differences.csv` and `bms.contact_difference`
  list each field that differs, with the last value on which both sides agreed, the dropped value and
  the value in the CRM. A difference is reported once, until it changes or disappears.
- **Start**: `inbox_dispatch` starts a run for each dropped file. To start a run by hand, give the
  name of a file in `inbox/contacts/`. To request approval again after it expired, or to decide on
  lines of `needs_review.csv` (lines: `4`, `3-7, 9` or `all`; decision: `create`, `give_up`, or the id
  of the existing contact), give the number of the drop. The ledger stores who decided.
"""

from airflow.sdk import dag

from bms_provider.operators.flows import drops


@dag(schedule=None, doc_md=__doc__, **drops.dag_arguments("crm"))
def contact_creation() -> None:
    """Plan, approve in up to two rounds, create in chunks, conclude."""
    drops.steps("contact")


DAG = contact_creation()
