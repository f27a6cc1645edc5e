"""Operators of the invoice report: write its files, and mail its workbook."""

from datetime import date
from typing import Any

from airflow.sdk import Context

from bms_provider import flow_context
from bms_provider.operators.flows.base import BmsFlowOperator


class BmsInvoiceReportOperator(BmsFlowOperator):
    """Write the invoice report for finance: a workbook and CSV files below ``BMS_DATA_ROOT``.

    In a run that a load started, waits for the load's other units; skipped if an earlier report has the
    load.

    :param as_of: last day that the report knows (``as_of``, templated); default: everything until now.
    :param language: ``EN`` or ``FR`` (``language``, templated); default: ``BMS_LANGUAGE``.
    :return: to XCom: the manifest, with the folder of the report and the name of its workbook.
    """

    as_of: date | str | None = None
    language: str | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Write the report; return its manifest."""
        from airflow.sdk.exceptions import AirflowSkipException

        from bms_flows.invoices.finance import moments
        from bms_flows.invoices.finance.run import write_report
        from bms_flows.runtime.settings import Language

        as_of = self.given(context, "as_of", date | None)
        language = self.given(context, "language", Language | None)
        with (
            flow_context.rescheduled_while_busy(),
            flow_context.open_context(None, self.warehouse_conn_id) as flow,
        ):
            step, language = flow_context.step(moments.STEP), language or flow.settings.language
            triggered = context["dag_run"].run_type == "asset_triggered"
            if triggered and moments.nothing_new(flow.warehouse, step.dag_run_id):
                raise AirflowSkipException("The previous report has all loads.")
            return write_report(flow, step, as_of=as_of, language=language)


class BmsMailReportOperator(BmsFlowOperator):
    """Mail the workbook of an invoice report to ``BMS_REPORT_TO``; skipped if it names no address.

    :param report: return value of `BmsInvoiceReportOperator` (templated).
    """

    report: Any

    def execute(self, context: Context) -> None:
        """Send the mail."""
        from airflow.sdk.exceptions import AirflowSkipException

        from bms_flows.invoices.finance.run import mail
        from bms_flows.runtime import manifest, storage
        from bms_provider import notices

        manifest.require_version(self.report, "Clear the whole run: it writes the report again.")
        settings, name = flow_context.flow_settings(), self.report["workbook"]
        if not settings.report_to:
            raise AirflowSkipException("No mail: BMS_REPORT_TO names no address.")
        content = storage.read_file(flow_context.data_root() / self.report["report"] / name)
        notice = mail(self.report, settings, context["dag_run"].dag_id)
        notices.mail_report(settings, notice, {name: content})
