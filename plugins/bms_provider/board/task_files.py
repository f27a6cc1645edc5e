"""Downloads of files that operators wrote, for users who may edit the DAG of the task."""

import errno
import logging
from collections.abc import Iterator
from itertools import chain
from pathlib import PurePosixPath

from fastapi import FastAPI, HTTPException, status
from fastapi.responses import StreamingResponse
from upath import UPath

from bms_flows.runtime import storage
from bms_provider.board.access import UserDep, may_edit
from bms_provider.board.files import header_name, without_links
from bms_provider.files import OPERATOR_FILES
from bms_provider.flow_context import data_root

log = logging.getLogger(__name__)

CHUNK = 1 << 20
HEADERS = {
    # The browser saves the file and never executes its content.
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
}

app = FastAPI(title="BMS task files", docs_url=None, redoc_url=None, openapi_url=None)


@app.get("/{dag_id}/{path:path}")
def task_file(dag_id: str, path: str, user: UserDep) -> StreamingResponse:
    """Return a file below ``operators/<dag_id>/``."""
    if not may_edit(user, dag_id):
        raise HTTPException(
            status.HTTP_403_FORBIDDEN,
            "The file holds personal data. Only users who may edit the DAG can download it.",
        )
    parts = PurePosixPath(path).parts
    root, relative = data_root(), f"{OPERATOR_FILES}/{dag_id}/{path}"
    file = root / relative
    outside = not parts or ".." in (dag_id, *parts) or "\0" in path
    missing = HTTPException(
        status.HTTP_404_NOT_FOUND, "The file does not exist. It may be past its retention."
    )
    if outside or not without_links(root, relative):
        raise missing
    chunks = _chunks(file)
    try:
        # Opened before the response begins: after that, no error page can be sent.
        first = next(chunks, b"")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, storage.NotRegularFile):
        raise missing from None
    except OSError as error:
        raise (missing if error.errno == errno.ENAMETOOLONG else error) from None
    log.info("User %s downloads a file of the DAG %s", user.get_id(), dag_id)
    disposition = f'attachment; filename="{header_name(file.name)}"'
    return StreamingResponse(
        chain([first], chunks),
        media_type="application/octet-stream",
        headers={**HEADERS, "Content-Disposition": disposition},
    )


def _chunks(file: UPath) -> Iterator[bytes]:
    with storage.open_to_read(file) as stream:
        while chunk := stream.read(CHUNK):
            yield chunk
