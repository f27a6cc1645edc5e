"""Rendering of pages from Jinja templates, with autoescaping."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bms_flows.onboarding.planning.limits import ApprovalReason
from bms_flows.onboarding.reporting.approval_request import reason_text
from bms_flows.runtime.settings import FlowSettings
from bms_flows.texts import PLAN_PAGE, SECTIONS, WITHDRAWN
from bms_provider.board import charts, formatting, states
from bms_provider.board import texts as board_texts
from bms_provider.board.links import Links

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters.update({name: getattr(formatting, name) for name in formatting.FILTERS})
TEMPLATES.filters["reason"] = lambda stored, language, resource: reason_text(
    ApprovalReason(**stored), language, resource
)
TEMPLATES.filters["filled"] = lambda rows, column: any(row.cells[column] for row in rows)
TEMPLATES.filters["row_reason"] = board_texts.row_reason
TEMPLATES.globals.update(
    gauge=charts.gauge,
    WITHDRAWN=WITHDRAWN,
    PLAN_PAGE=PLAN_PAGE,
    SECTIONS=SECTIONS,
)


def links(request: Request) -> Links:
    """Return the links of a page, below the address that the browser requested."""
    return Links(request.scope.get("root_path", ""))


def render(request: Request, template: str, settings: FlowSettings, **values: Any) -> str:
    """Return a page as HTML, with times in the company's time zone.

    `values["language"]` is the language of what HR users read, English without it.
    """
    now, zone = datetime.now(UTC), settings.time_zone
    board = links(request)
    runbook = settings.runbook_url or board.runbook()
    language = values.get("language", "EN")
    known = {"links": board, "now": now, "zone": zone, "runbook": runbook, "language": language}
    known |= {"t": board_texts.translator(language), "STATES": states.labels(language)}
    return TEMPLATES.get_template(template).render(known, **values)
