"""Charts of each flow."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta

from sqlalchemy import Connection, RowMapping

from bms_flows.runtime.settings import Language
from bms_flows.texts import PAGES
from bms_provider.board import texts
from bms_provider.board.charts import Chart, Series
from bms_provider.board.flows import FLOWS
from bms_provider.board.page import Page
from bms_warehouse.queries import drops, trends

MAX_DROPS = 20
CHANGES = {"inserted": ("New", "c1"), "changed": ("Changed", "c2"), "missing": ("Missing", "c4")}


def charts(page: Page, name: str, period: timedelta, language: Language = "EN") -> list[Chart]:
    """Return the charts of a flow with data of a period, by days in the company's time zone."""
    flow, warehouse, zone = FLOWS[name], page.warehouse, page.settings.time_zone
    now = datetime.now(zone)
    since, last = now - period, now.date()
    first = since.date()
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    if name == "invoice_extraction":
        found = _invoices(warehouse, days)
    elif flow.creates:
        dropped = drops.latest(warehouse, name, flow.creates, limit=MAX_DROPS)
        found = [_drops(dropped, flow.creates, language)]
    elif flow.loads:
        changes = trends.moves_per_day(warehouse, name, flow.last_step or "", since, zone.key)
        found = [_by_day(f"{flow.title}: new, changed, missing", days, changes, CHANGES)]
    else:
        found = []
    return [chart for chart in found if not chart.empty]


def _invoices(warehouse: Connection, days: Sequence[date]) -> list[Chart]:
    counted = trends.invoices_per_day(warehouse, days[0])
    amounts = trends.amounts_per_day(warehouse, days[0])
    found = [_by_day("Invoices per day", days, counted, {"invoices": ("Invoices", "c1")})]
    for currency in sorted({row["currency"] for row in amounts if row["currency"]}):
        rows = [row for row in amounts if row["currency"] == currency]
        title = f"Amount per day without VAT, {currency}"
        found.append(_by_day(title, days, rows, {"amount": (currency, "c2")}))
    return found


def _by_day(
    title: str,
    days: Sequence[date],
    rows: Iterable[RowMapping],
    columns: dict[str, tuple[str, str]],
) -> Chart:
    by_day = {row["day"]: row for row in rows}
    series = [
        Series(label, [float(by_day[day][name]) if day in by_day else None for day in days], kind)
        for name, (label, kind) in columns.items()
    ]
    return Chart(title, [f"{day:%-d %b}" for day in days], series)


def _drops(found: Sequence[RowMapping], resource: str, language: Language) -> Chart:
    concluded = [drop for drop in reversed(found) if drop["details"]]
    series = [
        Series(label, [drop["details"].get(name) for drop in concluded], f"c{number}")
        for number, (name, label) in enumerate(texts.outcome_labels(language).items(), 1)
    ]
    title = texts.of_new_records("outcomes", resource, language)
    labels = [f"{PAGES['drop'][language]} {drop['id']}" for drop in concluded]
    return Chart(title, labels, series, language=language)
