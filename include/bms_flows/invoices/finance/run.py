"""Run of the invoice report: figures of one moment, written as files and recorded as a step."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from bms_flows.invoices import leases
from bms_flows.invoices.finance import figures, moments, workbook
from bms_flows.runtime import manifest, step_log
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.landing import Landing
from bms_flows.runtime.notice import Links, Notice
from bms_flows.runtime.settings import FlowSettings, Language
from bms_flows.runtime.storage import atomic_file
from bms_flows.texts import REPORT
from bms_warehouse.database import now


def write_report(
    flow: FlowContext, step: step_log.Step, *, as_of: date | None, language: Language
) -> dict[str, Any]:
    """Write the report as of now, or of the end of a day; return its manifest; raise `DayNotKnown`."""
    zone, texts = flow.settings.time_zone, {name: each[language] for name, each in REPORT.items()}
    snapshot = flow.warehouse.execution_options(isolation_level="REPEATABLE READ")
    with recorded_step(flow, step) as step_run_id:
        leases.end_abandoned(flow.warehouse)
        with snapshot.connect() as connection:
            moment = moments.moment(connection, as_of, zone, step.dag_run_id)
            tables = figures.read(connection, moment)
        facts = [
            (texts["as_of"], moment.day),
            (texts["until"].format(zone=zone.key), moment.until),
            *(
                (texts[name].format(entity=each["id_entity"]), each[name])
                for each in moment.reads
                for name in ("last_read", "latest_day", "held_days")
                if each[name]
            ),
            *((texts[name], at) for name, at in moment.since.items()),
            *((texts["note"], each) for each in texts["notes"]),
        ]
        name = f"{texts['file']}-{moment.day}.xlsx"
        files = {name: workbook.workbook(tables, facts, language, zone)}
        files |= {f"{each}.csv": workbook.csv(tables[each], language, zone) for each in tables}
        landing = Landing(flow.data_root, moments.FLOW, now(flow.warehouse), step_run_id)
        for each, content in files.items():
            with atomic_file(landing.report(each)) as stream:
                stream.write(content)
        written = {
            "report": landing.reports,
            "workbook": name,
            "day": moment.day.isoformat(),
            "until": moment.until.isoformat(),
            "language": language,
        }
        with flow.warehouse.begin() as connection:
            step_log.finish(connection, step_run_id, state="complete", details=written)
    return manifest.versioned(**written)


def mail(report: Mapping[str, Any], settings: FlowSettings, dag_id: str) -> Notice:
    """Return the mail of a report, in its language."""
    title, text = (REPORT[each][report["language"]] for each in ("title", "mail"))
    address = Links.of(settings).flow(dag_id)
    return Notice(title.format(day=report["day"]), (text.format(address=address),))
