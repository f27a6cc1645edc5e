"""A request to the board: its user, its settings, the warehouse, and the rendering of its page."""

import inspect
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlalchemy import Connection
from upath import UPath

from bms_flows.onboarding.planning.plan import ApprovalReason
from bms_flows.onboarding.reporting.approval_request import reason_text
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.settings import Language
from bms_flows.texts import PLAN_PAGE, SECTIONS, WITHDRAWN
from bms_provider.board import formatting, states
from bms_provider.board import texts as board_texts
from bms_provider.board.access import Viewer, ViewerDep
from bms_provider.board.links import Links
from bms_provider.board.warehouse import reading
from bms_provider.flow_context import data_root

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters.update(inspect.getmembers(formatting, inspect.isfunction))
TEMPLATES.filters["reason"] = lambda stored, language, resource: reason_text(
    ApprovalReason(**stored), language, resource
)
TEMPLATES.filters["filled"] = lambda rows, column: any(row.cells[column] for row in rows)
TEMPLATES.filters["row_reason"] = board_texts.row_reason
TEMPLATES.globals.update(PLAN_PAGE=PLAN_PAGE, SECTIONS=SECTIONS, WITHDRAWN=WITHDRAWN)


@lru_cache(maxsize=1)
def settings() -> OnboardingSettings:
    """Return the settings from the environment of this process."""
    return OnboardingSettings.from_environment()


def render(request: Request, template: str, shown: OnboardingSettings, **values: Any) -> str:
    """Return a page as HTML, with times in the company's time zone.

    `values["language"]` is the language of what HR users read, English without it.
    """
    links, language = Links.of_request(request, shown), values.get("language", "EN")
    known = {"links": links, "runbook": links.runbook, "zone": links.zone, "language": language}
    known["now"] = datetime.now(UTC)
    known |= {"t": board_texts.translator(language), "STATES": states.labels(language)}
    return TEMPLATES.get_template(template).render(known, **values)


@dataclass(frozen=True)
class Page:
    """A request of a user, with what its page is made of."""

    request: Request
    who: Viewer
    settings: OnboardingSettings
    _opened: ExitStack

    @cached_property
    def warehouse(self) -> Connection:
        """A read-only connection, opened when it is first used."""
        return self._opened.enter_context(reading())

    def close_warehouse(self) -> None:
        """Return the connection before files are read or listed: their store may be slow."""
        self._opened.close()

    @property
    def root(self) -> UPath:
        """The data root."""
        return data_root()

    @property
    def links(self) -> Links:
        """The links below the address that the browser requested."""
        return Links.of_request(self.request, self.settings)

    def language_of(self, resource: str) -> Language:
        """Return the language of the inbox of a resource."""
        return self.settings.language_of(REMOTES[resource].resource.inbox)

    def render(self, template: str, **values: Any) -> str:
        """Return the page as HTML; that of a flow shows what the user may edit."""
        if name := values.get("name"):
            values["edits"] = name in self.who.edits
        return render(self.request, template, self.settings, **values)


def page(
    request: Request,
    who: ViewerDep,
    settings: Annotated[OnboardingSettings, Depends(settings)],
) -> Iterator[Page]:
    """Yield the page of a request."""
    with ExitStack() as opened:
        yield Page(request, who, settings, opened)


PageDep = Annotated[Page, Depends(page)]
