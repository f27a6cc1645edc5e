"""Pages from templates: every value is text, escaped, wherever it comes from."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bms_provider.board import wording
from bms_provider.board.links import Links

PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters.update(
    {name: getattr(wording, name) for name in ("age", "amount", "moment", "number", "percent")}
)


def render(request: Request, template: str, **values: Any) -> str:
    """Return a page as HTML."""
    links = Links(request.scope.get("root_path", ""))
    return PAGES.get_template(template).render(links=links, now=datetime.now(UTC), **values)
