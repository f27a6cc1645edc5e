"""Pages from templates: every value is text, escaped, wherever it comes from."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bms_flows.onboarding.faults.files import WITHDRAWN
from bms_flows.runtime import reasons
from bms_flows.runtime.settings import FlowSettings
from bms_provider.board import charts, wording
from bms_provider.board.links import Links
from bms_provider.board.states import STATES

PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters.update({name: getattr(wording, name) for name in wording.FILTERS})
PAGES.globals.update(
    gauge=charts.gauge,
    STATES=STATES,
    WITHDRAWN=WITHDRAWN,
    REASONS=reasons.ROW_FAULTS | reasons.VIOLATIONS | reasons.AUDIT_REASONS,
)


def links(request: Request) -> Links:
    """Return the addresses as the browser that asks sees them."""
    return Links(request.scope.get("root_path", ""))


def render(request: Request, template: str, settings: FlowSettings, **values: Any) -> str:
    """Return a page as HTML; `zone` is the company's, in which the page tells the time."""
    now, zone = datetime.now(UTC), settings.time_zone
    known = {"links": links(request), "now": now, "zone": zone, "runbook": settings.runbook_url}
    return PAGES.get_template(template).render(known, **values)
