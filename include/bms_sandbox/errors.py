"""Responses and error responses; the dialect decides the form of errors."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from math import ceil

from bms_sandbox.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response before it is sent."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


@dataclass(eq=False)
class ServiceError(Exception):
    """An error response: status, code, message, invalid fields."""

    status: int
    code: str
    message: str
    details: tuple[dict[str, str], ...] = ()
    retry_after: float | None = None
    headers: dict[str, str] = field(default_factory=dict)


def json_reply(body: bytes, status: int = 200) -> Reply:
    """Wrap an encoded JSON body."""
    return Reply(status, ((b"content-type", b"application/json"),), body)


def array_reply(chunks: Iterable[bytes], dialect: Dialect) -> Reply:
    """Return comma-joined rows as one JSON array."""
    rows = b",".join(filter(None, chunks))
    if not rows and dialect.no_rows != "array":
        if dialect.no_rows == "not_found":
            raise ServiceError(404, "no_rows", "there are no rows")
        return json_reply(b"null") if dialect.no_rows == "null" else Reply(204, (), b"")
    return json_reply(b"[%b]" % rows)


def error_reply(error: ServiceError, dialect: Dialect) -> Reply:
    """Return the response of an error in the form that the dialect specifies."""
    kind, body = _body(error, dialect)
    headers = [(b"content-type", kind)] if kind else []
    headers += [(name.encode(), value.encode()) for name, value in error.headers.items()]
    if error.retry_after is not None and dialect.retry_after != "absent":
        headers.append((b"retry-after", _retry_after(error.retry_after, dialect).encode()))
    return Reply(error.status, tuple(headers), body)


def _body(error: ServiceError, dialect: Dialect) -> tuple[bytes, bytes]:
    match dialect.error_body:
        case "json":
            content = {"code": error.code, "message": error.message, "errors": error.details}
            return b"application/json", json.dumps(content).encode()
        case "problem":
            problem = {
                "type": f"about:blank#{error.code}",
                "title": HTTPStatus(error.status).phrase,
                "status": error.status,
                "detail": error.message,
                "errors": error.details,
            }
            return b"application/problem+json", json.dumps(problem).encode()
        case "text":
            return b"text/plain; charset=utf-8", error.message.encode()
        case "empty":
            return b"", b""


def _retry_after(seconds: float, dialect: Dialect) -> str:
    if dialect.retry_after == "date":
        # Real time: the client compares the header with its own clock.
        return format_datetime(datetime.now(UTC) + timedelta(seconds=ceil(seconds)), usegmt=True)
    return str(ceil(seconds))
