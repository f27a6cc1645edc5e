"""Writes the invoice report for finance: a workbook and CSV files.

- **Open items**: ageing by client and currency (not due, 1 to 30, 31 to 60, 61 to 90, over 90 days), and
  each open invoice with the time of its last read.
- **Turnover** by month, **credit notes and cancellations**, and **missing numbers** of the series.
- **Bridge**: what changed the amount due since the previous report and since the last end of a month
  (new, changed, paid, canceled, missing), by currency, with the invoices of each line.

Amounts are exact. A report as of a past day says what the warehouse knew at the end of that day; a day
before the first read is refused. The files are on the board, at the page of the flow and of the run;
`BMS_REPORT_TO` receives the workbook by mail.
"""

from datetime import timedelta

from airflow.sdk import dag

from bms_provider import assets, policy
from bms_provider.operators.flows.reports import BmsInvoiceReportOperator, BmsMailReportOperator


@dag(
    schedule=[assets.CLIENT_INVOICE],
    doc_md=policy.documentation(__doc__, "invoice_report"),
    params={
        "as_of": policy.date_param(
            "As of", "Last day that the report knows. Empty: everything until now."
        ),
        "language": policy.language_param("the report"),
    },
    max_active_runs=1,
    **policy.dag_arguments("invoices", "finance", deadline=timedelta(hours=2)),
)
def invoice_report() -> None:
    """Write the report, then mail its workbook."""
    report = BmsInvoiceReportOperator(task_id="report")
    BmsMailReportOperator(task_id="mail", report=report.output)


DAG = invoice_report()
