"""Data of the pages of a flow, a run and a drop."""

import hashlib
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import RowMapping

from bms_flows.monitoring import deadlines
from bms_flows.onboarding.planning.managers import reports_first
from bms_flows.onboarding.planning.plan import ApprovalReason
from bms_flows.onboarding.reporting import approval_request
from bms_flows.onboarding.reporting.approval_request import ApprovalRequest
from bms_flows.runtime.settings import Language
from bms_flows.texts import INBOX_PAGE, PLANNED
from bms_provider.board import files
from bms_provider.board.flows import FLOWS
from bms_provider.board.page import Page
from bms_provider.board.queries import trends
from bms_provider.board.queries.overview import flow_rows
from bms_provider.board.texts import download_name, file_fault, of_new_records, outcome_labels
from bms_warehouse.queries import drops, loads, waiting
from bms_warehouse.tables.mirror import MIRROR_TABLES

MAX_LOADS = 60
PERIOD = timedelta(days=90)
"""Period of the charts."""
MAX_ROWS = 50
"""Quarantined rows on a flow's page."""
MAX_STEPS = 500
"""Steps on a run's page."""
MAX_PLAN_ROWS = 500
"""Rows of an action on a plan's page; the file has all."""
PLAN_ID = 12
"""Characters of a plan's id in addresses."""
MONTHS = timedelta(days=190)
"""Period of the months whose deadlines are shown."""
UNCLAIMED = ("waiting", "withdrawn")
"""States of a drop that no run may have claimed; `started_at` is set once a run has started."""


def flow_page(page: Page, name: str) -> dict[str, Any]:
    """Return the data of a flow's page; close the connection before listing the latest report."""
    flow, warehouse, now = FLOWS[name], page.warehouse, datetime.now(UTC)
    language: Language = "EN"
    title = flow.title
    if flow.creates:
        language = page.language_of(flow.creates)
        title = of_new_records("title", flow.creates, language)
    quarantined = waiting.quarantined(warehouse, flow.loads, MAX_ROWS) if flow.loads else []
    row = flow_rows(page, [name], MAX_LOADS)[0]
    found = {
        "name": name,
        "row": row,
        "charts": trends.charts(page, name, PERIOD, language),
        "title": title,
        "drops": drops.latest(warehouse, name, flow.creates, limit=MAX_LOADS)
        if flow.creates
        else [],
        "language": language,
        "flow_inbox": INBOX_PAGE["open"][language] if flow.creates else "",
        "outcomes": outcome_labels(language),
        "quarantined": quarantined,
        "missing_numbers": waiting.missing_numbers(warehouse, MAX_ROWS)
        if flow.loads == "client_invoice"
        else [],
        "contract": waiting.contract(warehouse) if name == "service_contract" else [],
        "months": deadlines.read_months(warehouse, flow, page.settings, now - MONTHS, now)
        if flow.impact
        else [],
    }
    page.close_warehouse()
    folder = files.folder_of(row.last) if row.last and not (flow.loads or flow.creates) else None
    return {**found, "report": files.listed(page.root, [folder]).get(folder or "", [])}


def run_page(
    page: Page, name: str, dag_run_id: str, step: int | None = None
) -> dict[str, Any] | None:
    """Return the data of a run's page, with the step of number `step`; None for an unknown run.

    Closes the connection before it lists the reports, since the file store may be slow.
    """
    steps = loads.steps(page.warehouse, name, dag_run_id, limit=MAX_STEPS, among=step)
    if not steps:
        return None
    totals: dict[int, list[RowMapping]] = {}
    for total in loads.totals(page.warehouse, [step["id"] for step in steps]):
        totals.setdefault(total["step_run_id"], []).append(total)
    page.close_warehouse()
    reports = files.listed(page.root, map(files.folder_of, steps))
    return {
        "name": name,
        "flow": FLOWS[name],
        "dag_run_id": dag_run_id,
        "many": steps[0]["many"],
        "outcomes": outcome_labels("EN"),
        "steps": [
            (each, totals.get(each["id"], []), reports.get(files.folder_of(each) or "", []))
            for each in steps
        ],
    }


def plan_page(page: Page, name: str, drop: RowMapping, plan: str) -> dict[str, Any] | None:
    """Return the data of a plan's page, None for an unknown plan; close the connection before reading.

    `plan` is the start of the plan's id. `sections` are the rows by action; None for a plan without a
    file, such as one that needed no approval, and for a file that was changed after it was written.
    """
    plans = drops.plans(page.warehouse, drop["id"])
    found = next((each for each in plans if each["id"][:PLAN_ID] == plan), None)
    if found is None:
        return None
    page.close_warehouse()
    reasons = [ApprovalReason(**each) for each in found["asked_because"] or []]
    request = ApprovalRequest(drop["id"], drop["resource"], found["id"], found["counts"], reasons)
    asked = approval_request.ask(request, page.settings)
    content = files.content(page.root, drop["report"], approval_request.plan_file_name(found["id"]))
    altered = content and hashlib.sha256(content).hexdigest() != found["file_digest"]
    if altered:
        content = None
    headers, rows = approval_request.read_plan_file(content) if content else ((), [])
    filled = [n for n, _ in enumerate(headers) if any(row.cells[n] for row in rows)]
    by_action = {action: [row for row in rows if row.action == action] for action in PLANNED}
    return {
        "name": name,
        "title": of_new_records("title", drop["resource"], asked.language),
        "drop": drop,
        "plan": found,
        "waits": drop["state"] == "open" and found["state"] == "made" and found["asked_at"],
        "question": asked,
        "language": asked.language,
        "asked": bool(reasons),
        "headers": [headers[n] for n in filled],
        "filled": filled,
        "sections": [(a, each) for a, each in by_action.items() if each] if content else None,
        "altered": altered,
        "file": approval_request.plan_file_name(found["id"]),
        "limit": MAX_PLAN_ROWS,
    }


def drop_page(page: Page, name: str, drop: RowMapping) -> dict[str, Any]:
    """Return the data of a drop's page; close the connection before listing the report."""
    warehouse, language = page.warehouse, page.language_of(drop["resource"])
    details = drop["details"] or {}
    mirror = MIRROR_TABLES[drop["resource"]].current
    plans = [
        (plan, approval_request.outcome_text(Counter(plan["counts"]), drop["resource"], language))
        for plan in drops.plans(warehouse, drop["id"])
    ]
    outcomes = [(label, details.get(key, 0)) for key, label in outcome_labels(language).items()]
    found = {
        "name": name,
        "title": of_new_records("title", drop["resource"], language),
        "drop": drop,
        "claimed": drop["state"] not in UNCLAIMED or drop["started_at"] is not None,
        "on_record": bool(loads.steps(warehouse, name, drop["dag_run_id"], limit=1)),
        "language": language,
        "outcomes": outcomes,
        "to_correct": details.get("rejected"),
        "file_faults": [file_fault(each, language) for each in details.get("file_faults", ())],
        "file_notes": [file_fault(each, language)[0] for each in details.get("file_notes", ())],
        "unread": bool(details) and not any(rows for _, rows in outcomes),
        "plans": plans,
        "waiting": waiting.rows_of_drop(warehouse, drop["id"]),
        "decisions": drops.decisions(warehouse, drop["id"]),
        "undo": reports_first(drops.created(warehouse, drop["id"], mirror)),
        "progress": drops.progress(warehouse, drop["id"]),
    }
    page.close_warehouse()
    report = files.listed(page.root, [drop["report"]]).get(drop["report"] or "", [])
    named = [replace(each, label=download_name(each.name, language)) for each in report]
    return {**found, "files": named}
