"""Creates consultants in the CRM from a dropped file, each at most once.

One run handles one file:

1. It reads the file and plans which consultants to create.
2. It asks for approval if `BMS_APPROVAL` or the limits require it.
3. It creates the approved consultants and reads them back.
4. It writes a report to `reports/consultants/<drop>-<time>/`.

- **Matching**: a row matches an existing consultant if the name and the e-mail address agree, or the
  name and the mobile phone. If only the name and the year of birth agree, a reviewer decides.
- **No updates**: the service has no update operation. `needs_review.csv` lists the fields that
  differ; change them in the service by hand.
- **Start**: `inbox_dispatch` starts a run for each dropped file. To start a run by hand, give the
  name of a file in `inbox/consultants/`. To request approval again after it expired, or to decide on
  lines of `needs_review.csv` (`create`, `give_up`, or the id of the existing consultant), give the
  number of the drop. The ledger stores who decided.
"""

from airflow.sdk import dag

from bms_provider.operators.flows import drops


@dag(schedule=None, doc_md=__doc__, **drops.dag_arguments("crm"))
def consultant_creation() -> None:
    """Plan, approve in up to two rounds, create in chunks, conclude."""
    drops.steps("consultant")


DAG = consultant_creation()
