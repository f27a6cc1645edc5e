"""The board's web app, mounted by Airflow at `/bms`: every route asks who is there first.

What belongs to one flow asks for the right to that DAG besides. There is no mount and no document
of the routes, so nothing is answered that the app's own dependency does not see.
"""

from __future__ import annotations

import logging
import mimetypes
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response, status
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse
from pydantic import Field
from sqlalchemy import Connection, RowMapping
from starlette.exceptions import HTTPException as AnyHTTPException

from bms_flows.monitoring import health
from bms_flows.runtime.settings import FlowSettings
from bms_provider.board import details, files, overview
from bms_provider.board.access import Viewer, ViewerDep, viewer
from bms_provider.board.flows import FLOWS
from bms_provider.board.pages import links, render
from bms_provider.board.warehouse import WarehouseDep
from bms_provider.flow_context import data_root
from bms_warehouse.errors import WarehouseError
from bms_warehouse.queries import drops, loads

log = logging.getLogger(__name__)

NO_PAGE = "There is no such page."
STATIC = {path.name: path for path in Path(__file__).with_name("static").iterdir()}
Number = Annotated[int, Field(ge=1, le=2**63 - 1)]
"""Of a step or drop, as PostgreSQL gives it."""

HEADERS = {
    # Airflow's session cookie can be read by scripts: no script but ours runs here.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}

app = FastAPI(
    title="BMS board",
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
    dependencies=[Depends(viewer)],
    default_response_class=HTMLResponse,
)


@lru_cache(maxsize=1)
def settings() -> FlowSettings:
    """Return the flows' settings, as the environment of this process has them."""
    return FlowSettings.from_environment()


SettingsDep = Annotated[FlowSettings, Depends(settings)]


@app.middleware("http")
async def guard_the_browser(request: Request, proceed: Any) -> Response:
    """Give every answer the headers that keep a browser from doing more than it should."""
    answer: Response = await proceed(request)
    for name, value in HEADERS.items():
        answer.headers.setdefault(name, value)
    return answer


@app.exception_handler(AnyHTTPException)
async def refused(request: Request, error: AnyHTTPException) -> Response:
    """Say in a page why there is none."""
    return _refusal(request, error.status_code, error.detail, error.headers)


@app.exception_handler(RequestValidationError)
async def unreadable(request: Request, error: RequestValidationError) -> Response:  # noqa: ARG001 - it quotes what was asked
    """Say that there is no page at an address whose parts are none."""
    return _refusal(request, status.HTTP_404_NOT_FOUND, NO_PAGE)


@app.exception_handler(WarehouseError)
async def without_warehouse(request: Request, error: WarehouseError) -> Response:
    """Say that the warehouse does not answer, or not in time."""
    log.warning("the warehouse did not answer: %s", error)
    why = "The warehouse does not answer: nobody can tell how fresh anything is."
    return _refusal(request, status.HTTP_503_SERVICE_UNAVAILABLE, why)


@app.get("/")
def board(request: Request, who: ViewerDep, warehouse: WarehouseDep, settings: SettingsDep) -> str:
    """Show how every flow stands, and what waits for a person."""
    found = overview.overview(warehouse, who, settings)
    return render(request, "overview.html", settings, **found)


@app.get("/health", response_class=JSONResponse)
def state(who: ViewerDep, warehouse: WarehouseDep, settings: SettingsDep) -> dict[str, Any]:
    """Return what `python -m bms_flows.monitoring.health` prints, of the flows that the user may view."""
    return overview.viewed(health.report(warehouse, settings), who)


@app.get("/flows/{name}")
def flow(
    request: Request, name: str, who: ViewerDep, warehouse: WarehouseDep, settings: SettingsDep
) -> str:
    """Show how a flow stands, its loads, its charts."""
    who.must_view(name)
    return render(request, "flow.html", settings, **details.flow_page(warehouse, name, settings))


@app.get("/flows/{name}/runs/{dag_run_id:path}")
def run(
    request: Request,
    name: str,
    dag_run_id: str,
    who: ViewerDep,
    warehouse: WarehouseDep,
    settings: SettingsDep,
    step: Number | None = None,
) -> str:
    """Show the steps of a run, the one of number `step` among them: counts, totals, reports."""
    who.must_view(name)
    # No id has a NUL, and PostgreSQL takes no text with one.
    known = "\0" not in dag_run_id
    found = known and details.run_page(warehouse, name, dag_run_id, data_root(), step)
    if not found:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "The warehouse knows no such run.")
    return render(request, "run.html", settings, **found, edits=name in who.edits)


@app.get("/steps/{number}")
def step(
    request: Request, number: Number, who: ViewerDep, warehouse: WarehouseDep
) -> RedirectResponse:
    """Lead to a step on the page of its run."""
    found = _step(warehouse, who, number)
    place = links(request).load_at(found["flow"], found["dag_run_id"], number)
    return RedirectResponse(place, status.HTTP_303_SEE_OTHER)


@app.get("/steps/{number}/files/{name}")
def step_file(number: Number, name: str, who: ViewerDep, warehouse: WarehouseDep) -> Response:
    """Return a file of a step's report."""
    found = _step(warehouse, who, number)
    if FLOWS[found["flow"]].creates:
        who.must_edit(found["flow"])
    warehouse.close()
    return _attached(files.folder_of(found), name, who, f"step-{number}")


@app.get("/drops/{number}")
def drop(
    request: Request, number: Number, who: ViewerDep, warehouse: WarehouseDep, settings: SettingsDep
) -> str:
    """Show a drop: its plan, what became of its rows, its report."""
    name, found = _drop(warehouse, who, number)
    page = details.drop_page(warehouse, name, found, data_root())
    return render(request, "drop.html", settings, **page, edits=name in who.edits)


@app.get("/drops/{number}/files/{name}")
def drop_file(number: Number, name: str, who: ViewerDep, warehouse: WarehouseDep) -> Response:
    """Return a file of a drop's report: personal data, for those who may edit its DAG."""
    flow, found = _drop(warehouse, who, number)
    who.must_edit(flow)
    warehouse.close()
    return _attached(found["report"], name, who, f"drop-{number}")


@app.get("/static/{name}")
def static(name: str) -> FileResponse:
    """Return a style, a script or a picture."""
    if name not in STATIC:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "There is no such file.")
    kind, _ = mimetypes.guess_type(name)
    cached = {"Cache-Control": "private, max-age=300"}
    return FileResponse(STATIC[name], media_type=kind, headers=cached)


@app.get("/{path:path}")
def nothing(path: str) -> None:  # noqa: ARG001 - whatever it is
    """Say that there is nothing else, to those who may know."""
    raise HTTPException(status.HTTP_404_NOT_FOUND, NO_PAGE)


def _refusal(
    request: Request, code: int, why: str, headers: Mapping[str, str] | None = None
) -> Response:
    page = render(request, "refused.html", settings(), code=code, why=why)
    return HTMLResponse(page, code, headers=headers)


def _step(warehouse: Connection, who: Viewer, number: int) -> RowMapping:
    found = loads.step(warehouse, number)
    if found is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "There is no such step.")
    who.must_view(found["flow"])
    return found


def _drop(warehouse: Connection, who: Viewer, number: int) -> tuple[str, RowMapping]:
    resource = drops.resource(warehouse, number)
    name = next((name for name, flow in FLOWS.items() if resource == flow.creates), None)
    if resource is None or name is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "There is no such drop.")
    who.must_view(name)
    return name, drops.latest(warehouse, name, resource, limit=1, number=number)[0]


def _attached(folder: str | None, name: str, who: Viewer, what: str) -> Response:
    """Return a report file to be saved, never shown: a browser takes it for nothing else."""
    content = files.content(data_root(), folder, name)
    if content is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "The report has no such file.")
    log.info("%s downloads %s of %s", who.user.get_name(), name, what)
    headers = {
        "Content-Disposition": f'attachment; filename="{what}-{name}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return Response(content, media_type="application/octet-stream", headers=headers)
