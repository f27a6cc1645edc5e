"""Pages of an inbox: upload a file, see what a drop would do, correct cells, submit.

An upload creates nothing: only `submit` writes the file into the inbox, where it becomes an ordinary drop.
All requests that change something come from the board's own script (`same_origin`).
"""

import hashlib
import logging
from collections.abc import Mapping
from typing import IO, Annotated, Any, Final
from urllib.parse import unquote, urlsplit

from fastapi import APIRouter, Body, Depends, Header, HTTPException, Request, Response, status
from fastapi.concurrency import contextmanager_in_threadpool, run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import Field

from bms_flows.catalog import CREATED_BY
from bms_flows.monitoring import freshness
from bms_flows.onboarding import preview
from bms_flows.onboarding.inbox import uploads
from bms_flows.onboarding.inbox.uploads import BadName, Upload
from bms_flows.onboarding.inboxes import Inbox
from bms_flows.onboarding.preview import Answer, Question
from bms_flows.onboarding.reading.corrections import Corrections
from bms_flows.onboarding.reading.sheet import Limits
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.runtime import storage
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.fork_server import ForkServer, LimitExceeded, ServerBusy
from bms_flows.texts import INBOX_PAGE
from bms_provider.board.flows import FLOWS
from bms_provider.board.page import Page, PageDep
from bms_provider.board.texts import of_new_records
from bms_provider.board.warehouse import warehouse_address, writing
from bms_warehouse.locks import Busy, lock

log = logging.getLogger(__name__)

READER: Final = ForkServer("bms_flows.onboarding.preview:answer")
"""Reads uploaded files in child processes: one per process of the API server."""
MOST_CELLS: Final = 20_000
"""Corrected cells in one request."""
NO_UPLOAD: Final = "no_upload"
VERDICTS: Final = ("correct", "decide", "unchecked", "create", "exists", "resume")
"""Sections of a preview, in order."""

Line = Annotated[int, Field(ge=1, le=2**31 - 1)]
Place = Annotated[int, Field(ge=0, lt=Limits().columns)]
Text = Annotated[str, Field(max_length=Limits().characters)]
"""What UTF-8 can hold: with a limit, pydantic refuses lone surrogates too."""
Cells = Annotated[dict[Line, dict[Place, Text]], Body()]
Headers = Annotated[dict[Place, Text | None], Body()]
Digest = Annotated[str, Body(embed=True)]
"""Of the content that the page showed: another tab may have changed it since."""


def same_origin(
    request: Request,
    x_bms_board: Annotated[str | None, Header()] = None,
    sec_fetch_site: Annotated[str | None, Header()] = None,
    origin: Annotated[str | None, Header()] = None,
) -> None:
    """Raise 403 unless the board's script sent the request.

    Other sites can't send the header without a preflight. Browsers name the site of a request; where
    one doesn't, the origin must be the host.
    """
    hosts = {request.headers.get("host"), request.headers.get("x-forwarded-host")}
    foreign = origin is not None and urlsplit(origin).netloc not in hosts
    if not x_bms_board or (foreign if sec_fetch_site is None else sec_fetch_site != "same-origin"):
        raise HTTPException(status.HTTP_403_FORBIDDEN, "other_site")


router = APIRouter(prefix="/flows/{name}/inbox", default_response_class=HTMLResponse)
"""Routes of users who may edit the DAG of an inbox."""
changes = APIRouter(
    prefix="/flows/{name}/inbox",
    default_response_class=JSONResponse,
    dependencies=[Depends(same_origin)],
)
"""Routes that change something."""


def resource_of(name: str, page: PageDep) -> str:
    """Return the resource of a flow's inbox; 404 for a flow without inbox, 403 without its right."""
    page.who.must_edit(name)
    resource = FLOWS[name].creates
    if resource is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "no_page")
    return resource


ResourceDep = Annotated[str, Depends(resource_of)]


def upload_of(token: str, resource: ResourceDep, page: PageDep) -> Upload:
    """Return the user's upload; 404 for any other."""
    found = uploads.find(page.root, REMOTES[resource].resource.inbox, token, page.who.id)
    if found is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, NO_UPLOAD)
    return found


UploadDep = Annotated[Upload, Depends(upload_of)]


@router.get("")
def inbox(name: str, resource: ResourceDep, page: PageDep) -> str:
    """Show the form of the inbox."""
    READER.start()  # while the user chooses a file
    return page.render("inbox.html", **_shared(name, resource, page))


@changes.post("")
async def upload(
    request: Request,
    name: str,
    resource: ResourceDep,
    page: PageDep,
    x_file_name: Annotated[str, Header(max_length=2000)],
) -> dict[str, str]:
    """Store a file, streamed to disk; return the address of its preview."""
    folder, user, root = REMOTES[resource].resource.inbox, page.who.id, page.root
    try:
        new = await run_in_threadpool(uploads.begin, root, folder, unquote(x_file_name), user)
    except BadName:
        raise HTTPException(status.HTTP_422_UNPROCESSABLE_CONTENT, "bad_name") from None
    try:
        async with contextmanager_in_threadpool(storage.private_file(new.target)) as stream:
            size = await _store(request, stream)
    except BaseException:
        await run_in_threadpool(new.remove)
        raise
    log.info("User %s uploads %s bytes to %s", user, size, folder)
    return {"page": page.links.upload(name, new.token)}


@router.get("/{token}")  # noqa: FAST003 - `upload_of` takes the token
def check(name: str, resource: ResourceDep, upload: UploadDep, page: PageDep) -> str:
    """Show how the file is read, its faults, and what a drop would do."""
    mirrored = mirror_times(page, resource)
    page.close_warehouse()
    content, original = upload.contents()
    asked = Question(upload.name, resource, content, warehouse_address(), mirrored)
    shown = _answer(asked).preview
    other = shown and shown.resource
    return page.render(
        "upload.html",
        **_shared(name, resource, page),
        upload=upload,
        original=original is not None,
        digest=hashlib.sha256(content).hexdigest(),
        preview=shown,
        verdicts=VERDICTS,
        limit=preview.MAX_ROWS,
        other=_shared(CREATED_BY[other].dag_id, other, page) if other else None,
    )


@changes.post("/{token}/cells", status_code=status.HTTP_204_NO_CONTENT)  # noqa: FAST003 - `upload_of` takes the token
def correct(
    resource: ResourceDep, upload: UploadDep, cells: Cells, headers: Headers, digest: Digest
) -> Response:
    """Correct cells and headers of the file that the user saw; the file as uploaded is kept."""
    if sum(map(len, cells.values())) > MOST_CELLS:
        raise HTTPException(status.HTTP_413_CONTENT_TOO_LARGE, "too_large")
    content = _shown(upload, digest)
    asked = Question(upload.name, resource, content, corrections=Corrections(cells, headers))
    corrected = _answer(asked).content
    if corrected is None:
        raise HTTPException(status.HTTP_422_UNPROCESSABLE_CONTENT, "bad_request")
    if len(corrected) > Limits().bytes:
        raise HTTPException(status.HTTP_413_CONTENT_TOO_LARGE, "too_large")
    upload.save_corrected(corrected)
    return Response(status_code=status.HTTP_204_NO_CONTENT)


@changes.post("/{token}/submit")
def submit(token: str, resource: ResourceDep, page: PageDep, digest: Digest) -> dict[str, str]:
    """Drop the file whose preview the user saw, once for two clicks or tabs; return the page of the drop."""
    page.close_warehouse()
    flow = FlowContext(writing(), page.root, page.settings)
    try:
        with flow.warehouse.connect() as connection, lock(connection, f"upload {token}", NO_UPLOAD):
            upload = upload_of(token, resource, page)
            _shown(upload, digest)
            drop = Inbox(flow, resource, page.settings).submit(upload)
    except Busy as submitted:
        raise HTTPException(status.HTTP_404_NOT_FOUND, str(submitted)) from None
    log.info("User %s submits drop-%s", upload.user, drop.id)
    return {"page": page.links.drop(drop.id)}


@changes.post("/{token}/discard")  # noqa: FAST003 - `upload_of` takes the token
def discard(name: str, upload: UploadDep, page: PageDep) -> dict[str, str]:
    """Delete an upload; return the page of the inbox."""
    upload.remove()
    return {"page": page.links.inbox(name)}


def mirror_times(page: Page, resource: str) -> Mapping[str, Any]:
    """Return when the mirror of a resource last read the whole list, by scope."""
    [mirror] = (name for name, flow in FLOWS.items() if flow.loads == resource)
    return {
        "" if each.id_entity is None else str(each.id_entity): each.complete_at
        for each in freshness.read_freshness(page.warehouse, page.settings)[mirror].entities
        if each.complete_at is not None
    }


def _shown(upload: Upload, digest: str) -> bytes:
    """Return the content of an upload; 409 unless the page showed it."""
    content, _ = upload.contents()
    if hashlib.sha256(content).hexdigest() != digest:
        raise HTTPException(status.HTTP_409_CONFLICT, "changed_upload")
    return content


async def _store(request: Request, stream: IO[bytes]) -> int:
    """Write the body of a request; return its size."""
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > Limits().bytes:
            raise HTTPException(status.HTTP_413_CONTENT_TOO_LARGE, "too_large")
        await run_in_threadpool(stream.write, part)
    return size


def _answer(asked: Question) -> Answer:
    try:
        return preview.decode_answer(READER.call(preview.encode(asked)))
    except LimitExceeded:
        raise HTTPException(status.HTTP_422_UNPROCESSABLE_CONTENT, "too_heavy") from None
    except ServerBusy:
        raise HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, "busy") from None


def _shared(name: str, resource: str, page: Page) -> dict[str, Any]:
    """Return what both pages of an inbox show."""
    language = page.language_of(resource)
    texts = {code: text[language] for code, text in INBOX_PAGE.items()}
    title = of_new_records("title", resource, language)
    return {"name": name, "flow": FLOWS[name], "language": language, "p": texts, "title": title}
