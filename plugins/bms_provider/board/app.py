"""The board's web app, mounted by Airflow at `/bms`: every route asks who is there first.

What belongs to one flow asks for the right to that DAG besides. There is no mount and no document
of the routes, so nothing is answered that the app's own dependency does not see.
"""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response, status
from fastapi.responses import FileResponse, HTMLResponse
from starlette.exceptions import HTTPException as AnyHTTPException

from bms_provider.board import overview
from bms_provider.board.access import ViewerDep, viewer
from bms_provider.board.pages import render
from bms_provider.board.warehouse import WarehouseDep

STATIC = {path.name: path for path in Path(__file__).with_name("static").iterdir()}

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
    page = render(request, "refused.html", code=error.status_code, why=error.detail)
    return HTMLResponse(page, error.status_code, headers=error.headers)


@app.get("/")
def board(request: Request, who: ViewerDep, warehouse: WarehouseDep) -> str:
    """Show how every flow stands, and what waits for a person."""
    return render(request, "overview.html", **overview.overview(warehouse, who))


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
    raise HTTPException(status.HTTP_404_NOT_FOUND, "There is no such page.")
