"""Routes of the board, which Airflow mounts at `/bms`.

Every route requires a user who may view at least one flow; a route of one flow also requires permission
on its DAG. The app has no mounts and no API documentation, since these would bypass its dependencies.
"""

import logging
import mimetypes
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, FastAPI, HTTPException, Request, Response, status
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse
from pydantic import Field
from sqlalchemy import RowMapping
from starlette.exceptions import HTTPException as StarletteHTTPException

from bms_flows import texts
from bms_flows.monitoring import health
from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime import storage
from bms_flows.runtime.settings import InvalidSetting, Language
from bms_provider.board import files, inbox
from bms_provider.board.access import viewer
from bms_provider.board.flows import FLOWS
from bms_provider.board.page import Page, PageDep, render, settings
from bms_provider.board.queries import overview, pages
from bms_provider.board.texts import download_name
from bms_provider.board.warehouse import writing
from bms_warehouse.errors import WarehouseError
from bms_warehouse.queries import drops, loads

log = logging.getLogger(__name__)

NO_PAGE = "no_page"
STATIC = {path.name: path for path in Path(__file__).with_name("static").iterdir()}
Number = Annotated[int, Field(ge=1, le=2**63 - 1)]
"""Number of a step or drop: a positive bigint."""

RUNBOOK = {
    "Alarms": texts.ALARMS,
    "Errors of tasks": texts.ERRORS_OF_TASKS,
    "Upgrades and alarms": texts.RUNBOOK["situations"],
    "Findings of bms doctor": texts.RUNBOOK["doctor"],
    "Failed checks of invoices": texts.VIOLATIONS,
    "Failed checks of lists": texts.RUNBOOK["lists"],
    "Findings of the audit": texts.AUDIT_REASONS,
    "Rows in quarantine": texts.ROW_FAULTS,
    "Files that wait": {code: text["EN"] for code, text in texts.WAITING.items()},
    "Drops that were withdrawn": {code: text["EN"] for code, text in texts.WITHDRAWN.items()},
}
"""Codes by group, in the order of docs/runbook.md."""

HEADERS = {
    # Scripts can read Airflow's session cookie, so the browser may run the board's script only.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
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


@app.middleware("http")
async def add_security_headers(request: Request, call_next: Any) -> Response:
    """Add the security headers to every response."""
    response: Response = await call_next(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


@app.exception_handler(StarletteHTTPException)
async def http_error(request: Request, error: StarletteHTTPException) -> Response:
    """Render an HTTP error as a page; 400 is FastAPI's for a body that is no JSON."""
    code = error.status_code
    why = "bad_request" if code == status.HTTP_400_BAD_REQUEST else error.detail
    return _error_page(request, code, why, error.headers)


@app.exception_handler(RequestValidationError)
async def invalid_request(request: Request, error: RequestValidationError) -> Response:
    """Render an address with invalid parameters as 404, other invalid content as 422, without quoting it."""
    if any(each["loc"][0] in ("body", "header") for each in error.errors()):
        return _error_page(request, status.HTTP_422_UNPROCESSABLE_CONTENT, "bad_request")
    return _error_page(request, status.HTTP_404_NOT_FOUND, NO_PAGE)


@app.exception_handler(WarehouseError)
async def warehouse_error(request: Request, error: WarehouseError) -> Response:
    """Render an unavailable warehouse as 503."""
    log.warning("Warehouse not available: %s", error)
    why = (
        "The warehouse does not answer, so the board cannot show the state of the flows."
        " Check PostgreSQL and the connection bms_warehouse, then reload the page."
    )
    return _error_page(request, status.HTTP_503_SERVICE_UNAVAILABLE, why)


@app.exception_handler(InvalidSetting)
async def invalid_setting(request: Request, error: InvalidSetting) -> Response:
    """Render an invalid setting of the API server as 503."""
    log.error("Invalid setting: %s", error)
    why = (
        f"{error}. Correct it in the environment of Airflow's API server, then restart the server."
    )
    return _error_page(request, status.HTTP_503_SERVICE_UNAVAILABLE, why)


@app.exception_handler(OSError)
async def storage_error(request: Request, error: OSError) -> Response:
    """Render an error of a file, such as a full disk, as 503; raise other errors."""
    if error.filename is None and error.errno not in (*storage.FULL, *storage.REFUSED):
        raise error
    # The path may contain the name of a dropped file.
    log.error("The data root can't be read or written: %s (BMS_DATA_ROOT)", error.strerror)
    return _error_page(request, status.HTTP_503_SERVICE_UNAVAILABLE, "no_storage")


@app.get("/")
def board(page: PageDep) -> str:
    """Show the overview: the state of every flow and the pending items."""
    return page.render("overview.html", **overview.overview(page))


@app.get("/health", response_class=JSONResponse)
def state(page: PageDep) -> dict[str, Any]:
    """Return the health report of the flows that the user may view, as the health command prints it."""
    return overview.viewed(health.report(page.warehouse, page.settings), page.who)


@app.get("/runbook")
def runbook(page: PageDep) -> str:
    """Show the meaning and the remedy of each reason code; messages link to it."""
    return page.render("runbook.html", groups=RUNBOOK)


@app.get("/flows/{name}")
def flow(name: str, page: PageDep) -> str:
    """Show a flow: its state, loads and charts."""
    page.who.must_view(name)
    return page.render("flow.html", **pages.flow_page(page, name))


@app.get("/flows/{name}/runs/{dag_run_id:path}")
def run(name: str, dag_run_id: str, page: PageDep, step: Number | None = None) -> str:
    """Show the steps of a run, with the step of number `step`: counts, totals, reports."""
    page.who.must_view(name)
    valid = "\0" not in dag_run_id  # PostgreSQL rejects text with NUL
    found = valid and pages.run_page(page, name, dag_run_id, step)
    if not found:
        why = "The warehouse has no steps of this run. Check it in Airflow."
        raise HTTPException(status.HTTP_404_NOT_FOUND, why)
    return page.render("run.html", **found)


@app.get("/steps/{number}")
def step(number: Number, page: PageDep) -> RedirectResponse:
    """Redirect to the section of a step on the page of its run."""
    found = _step(page, number)
    address = page.links.load_at(found["flow"], found["dag_run_id"], number)
    return RedirectResponse(address, status.HTTP_303_SEE_OTHER)


@app.get("/steps/{number}/files/{name}")
def step_file(number: Number, name: str, page: PageDep) -> Response:
    """Return a report file of a step."""
    found = _step(page, number)
    if FLOWS[found["flow"]].creates:
        page.who.must_edit(found["flow"])
    return _download(page, files.folder_of(found), name, f"step-{number}")


@app.get("/drops/{number}")
def drop(number: Number, page: PageDep) -> str:
    """Show a drop: its plan, the outcomes of its rows, its report."""
    name, found = _drop(page, number)
    return page.render("drop.html", **pages.drop_page(page, name, found))


@app.post(
    "/drops/{number}/undo",
    response_class=JSONResponse,
    dependencies=[Depends(inbox.same_origin)],
)
def undo(number: Number, page: PageDep) -> dict[str, str]:
    """Open the undo sheet of a drop that was a mistake; return the page of the drop."""
    _drop(page, number, edit=True)
    page.close_warehouse()
    claim.open_undo_sheet(writing(), number, page.who.id)
    log.info("User %s opens the undo sheet of drop-%s", page.who.id, number)
    return {"page": page.links.drop(number)}


@app.get("/drops/{number}/plans/{plan}")
def plan(number: Number, plan: str, page: PageDep) -> str:
    """Show the rows of a plan, to users who may edit its DAG, since they are personal data."""
    name, found = _drop(page, number, edit=True)
    shown = pages.plan_page(page, name, found, plan)
    if shown is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "no_plan")
    log.info("User %s reads plan %s of drop-%s", page.who.id, shown["plan"]["id"][:12], number)
    return page.render("plan.html", **shown)


@app.get("/drops/{number}/files/{name}")
def drop_file(number: Number, name: str, page: PageDep) -> Response:
    """Return a report file of a drop, to users who may edit its DAG, since it holds personal data."""
    _, found = _drop(page, number, edit=True)
    shown = download_name(name, page.language_of(found["resource"]))
    return _download(page, found["report"], name, f"drop-{number}", shown)


@app.get("/static/{name}")
def static(name: str) -> FileResponse:
    """Return a style sheet, a script or an image."""
    if name not in STATIC:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "File not found.")
    kind, _ = mimetypes.guess_type(name)
    cached = {"Cache-Control": "private, max-age=300"}
    return FileResponse(STATIC[name], media_type=kind, headers=cached)


app.include_router(inbox.router)
app.include_router(inbox.changes)


@app.get("/{path:path}")
def not_found(path: str) -> None:  # noqa: ARG001
    """Answer 404 to all other addresses, after the permission check."""
    raise HTTPException(status.HTTP_404_NOT_FOUND, NO_PAGE)


def _error_page(
    request: Request, code: int, why: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error page, or JSON to the board's script; `why` is a code of `texts.ERRORS`, or a text for operators."""
    try:
        shown = settings()
    except InvalidSetting:
        shown = OnboardingSettings()
    french = request.headers.get("Accept-Language", "").lower().startswith("fr")
    script = request.method == "POST"  # the board's, which shows the error on the page
    if code == status.HTTP_401_UNAUTHORIZED:
        why = "session_ended" if script else "signed_out"
    known = texts.ERRORS.get(why)
    if script and (known or code < status.HTTP_500_INTERNAL_SERVER_ERROR):
        return JSONResponse({"error": known or {"EN": why}}, code, headers=headers)
    language: Language = "FR" if french and known else "EN"
    why = known[language] if known else why
    address = str(request.url)
    page = render(
        request, "error.html", shown, code=code, why=why, language=language, address=address
    )
    return HTMLResponse(page, code, headers=headers)


def _step(page: Page, number: int) -> RowMapping:
    found = loads.step(page.warehouse, number)
    if found is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "Step not found.")
    page.who.must_view(found["flow"])
    return found


def _drop(page: Page, number: int, *, edit: bool = False) -> tuple[str, RowMapping]:
    """Return the flow of a drop, and the drop, to users who may view or edit the DAG."""
    resource = drops.resource(page.warehouse, number)
    name = next((name for name, flow in FLOWS.items() if resource == flow.creates), None)
    if resource is None or name is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "no_drop")
    (page.who.must_edit if edit else page.who.must_view)(name)
    return name, drops.latest(page.warehouse, name, resource, limit=1, number=number)[0]


def _download(page: Page, folder: str | None, name: str, owner: str, shown: str = "") -> Response:
    """Return a report file as a download that the browser saves under the name `shown` and never displays."""
    page.close_warehouse()
    content = files.content(page.root, folder, name)
    if content is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "no_report_file")
    log.info("User %s downloads %s of %s", page.who.id, name, owner)
    headers = {
        "Content-Disposition": f'attachment; filename="{files.header_name(f"{owner}-{name}")}"'
        + (f"; filename*=UTF-8''{quote(shown)}" if shown and shown != name else ""),
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    kind = files.MEDIA_TYPES.get(PurePath(name).suffix, "application/octet-stream")
    return Response(content, headers={**headers, "Content-Type": kind})
