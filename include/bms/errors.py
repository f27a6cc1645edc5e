"""Error types of the client.

BmsError                     .endpoint (name), .status (or None), .retriable
├── MissingScope             the token lacks the endpoint's scope; nothing was sent
├── TokenRefused             the service refuses the credentials
├── Unauthorized             401 even with new tokens, after all retries
├── Refused                  any other 4xx: the service did nothing
│   ├── Forbidden            403
│   ├── NotFound             404
│   └── RangeRefused         a list of invoices refused or too large; a shorter range may succeed
├── Redirected               a redirect that the client does not follow
├── Distress                 the service may recover; .retry_after
│   ├── Throttled            429 after all retries
│   └── ServiceUnavailable   5xx, 408, 421, 423 or 425 after all retries
├── NoResponse               no complete response; .sent
│   ├── ConnectionFailed     no connection, or connection lost
│   └── Timeout              no complete response in time
├── MalformedResponse        a 2xx whose body does not match the interface
│   └── TooLarge             a response above the size limit, not read to its end
├── InvalidRecords           rows with a missing or mistyped key or amount; .rejected
└── AmbiguousWrite           a create that may have been executed; .reason; never repeated

A client that opens raises `InvalidTlsFile` for a setting that names no usable file; .setting.

The interface does not show error codes and error bodies, so no text quotes a body: a text names
operation, status, counts, and the known fields that the body of a refusal names, never values.
`retriable`: the same call may succeed later and is safe to repeat. `retry_for_hours`: the cause may
be an outage that lasts for hours.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from http import HTTPStatus
from typing import ClassVar, Final

from bms.endpoints import Endpoint


class BmsError(Exception):
    """Base class of the errors of a call; `str()` is safe to log."""

    retriable: bool = False
    retry_for_hours: ClassVar[bool] = False
    """Whether the cause may be an outage that lasts for hours."""

    def __init__(self, endpoint: Endpoint, text: str, *, status: int | None = None) -> None:
        self.endpoint = endpoint.name
        self.status = status
        self.tries = 1
        """Attempts of this call, without token requests."""
        self.elapsed: float | None = None
        """Seconds since the start of the call, with waits."""
        self.advice = ""
        """Where the request went and what to check, from the client's `advise`."""
        super().__init__(f"{endpoint}: {text}")

    def __str__(self) -> str:
        text = super().__str__()
        if self.elapsed is not None:
            text = f"{text} (tries: {self.tries}, seconds: {self.elapsed:.1f})"
        return f"{text}. {self.advice}" if self.advice else text


class MissingScope(BmsError):
    """The token lacks the scope of an endpoint; nothing was sent."""

    def __init__(self, endpoint: Endpoint, needed: str, granted: Collection[str]) -> None:
        self.needed = needed
        self.granted = frozenset(granted)
        listed = ", ".join(sorted(self.granted))
        super().__init__(
            endpoint,
            f"needs the scope {needed}, the token has {listed}; "
            f"ask the administrator of the service to grant {needed} to this client_id",
        )


class TokenRefused(BmsError):
    """The service refuses client id, application id or secret (4xx of the token operation).

    Retriable by a new client if it granted them a token before: the secret was renewed meanwhile.
    """


class Unauthorized(BmsError):
    """The service refuses new tokens as well, after all retries.

    Retriable: if the service keeps one live token per client, another process that renews its
    token at the same moment causes this error.
    """

    retriable = True


class Refused(BmsError):
    """The service responded 4xx and did nothing."""


class Forbidden(Refused):
    """The service responded 403."""


class NotFound(Refused):
    """The service responded 404 or 410, or no record can have the given id."""


class RangeRefused(Refused):
    """The service refuses a list of invoices (400, 413, 416, 422), sends only a part of it (206), or too much.

    A shorter range may succeed. The interface shows no maximum range: our assumption is that the
    service responds one of these statuses to a longer one.
    """


class Redirected(BmsError):
    """The service responded a redirect that the client does not follow, to protect the token."""


class Distress(BmsError):
    """The service asked for patience; `retry_after` is the requested wait in seconds, or None."""

    retriable = True
    retry_for_hours = True

    def __init__(
        self, endpoint: Endpoint, text: str, *, status: int, retry_after: float | None
    ) -> None:
        self.retry_after = retry_after
        super().__init__(endpoint, text, status=status)


class NoResponse(BmsError):
    """No complete response arrived; `sent` is False if there was no connection either."""

    retriable = True
    retry_for_hours = True

    def __init__(self, endpoint: Endpoint, text: str, *, sent: bool) -> None:
        self.sent = sent
        super().__init__(endpoint, text)


class Throttled(Distress):
    """The service responded 429."""


class ServiceUnavailable(Distress):
    """The service responded 5xx, 408, 421, 423 or 425: the same request may succeed later."""


class ConnectionFailed(NoResponse):
    """The client got no connection, or lost it before the response ended."""


class Timeout(NoResponse):
    """The response did not end in time."""


class MalformedResponse(BmsError):
    """A 2xx without the whole result (202, 206), or with a body that does not match the interface."""

    retriable = True


class TooLarge(MalformedResponse):
    """The response exceeds the size limit; another attempt would return the same."""

    retriable = False


class InvalidRecords(BmsError):
    """Rows without a usable key or amount; names row, field and code, never a value."""

    def __init__(self, endpoint: Endpoint, rejected: Sequence[tuple[int, str | None, str]]) -> None:
        self.rejected = tuple(rejected)
        shown = "; ".join(f"row {i}: {f or 'row'} {code}" for i, f, code in self.rejected[:10])
        more = f"; and {len(self.rejected) - 10} more" if len(self.rejected) > 10 else ""  # noqa: PLR2004 -- the ten shown above
        super().__init__(endpoint, f"{len(self.rejected)} invalid rows: {shown}{more}")


class AmbiguousWrite(BmsError):
    """A create was sent and its outcome is unknown; `reason` is a short code.

    `retry_after` is the wait in seconds that the service requested with 429 or 503, or None. The
    client never repeats the create; its caller may repeat it only after a search shows that the
    service has no such record.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        reason: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.reason = reason
        self.retry_after = retry_after
        super().__init__(
            endpoint,
            f"sent, outcome unknown ({reason}); search the service for the record before you "
            "send it again",
            status=status,
        )


class InvalidTlsFile(ValueError):
    """The file of `setting` (`verify` or `cert`) is unusable; nothing was sent.

    `problem` completes a sentence that begins with the setting's name; it quotes neither path nor
    content.
    """

    retriable = False

    def __init__(self, setting: str, problem: str) -> None:
        self.setting = setting
        self.problem = problem
        super().__init__(f"{setting} {problem}")


PASSING: Final = frozenset({408, 421, 423, 425})
"""Client errors of the moment or the connection: timeout, misdirected, locked, too early."""
FIELD_NAME: Final = re.compile(rb'"(?:\w+\.)*(\w+)"')
LONGEST_BODY: Final = 1 << 16
"""Bytes of an error body to search."""
RANGE_REFUSALS: Final = frozenset({400, 413, 416, 422})

REFUSALS: Final[dict[int, tuple[type[BmsError], str]]] = {
    401: (Unauthorized, "refused (401), even with new tokens"),
    403: (Forbidden, "forbidden (403)"),
    404: (NotFound, "not found (404)"),
    410: (NotFound, "gone (410)"),
}


def too_large(endpoint: Endpoint, limit: int) -> BmsError:
    """Return the error of a response above `limit` bytes."""
    text = f"the response exceeds {limit} bytes"
    if endpoint.has_range:
        return RangeRefused(endpoint, f"{text}; a shorter range may succeed")
    if endpoint.paged:
        return TooLarge(endpoint, f"{text}; a smaller page_size may succeed")
    return TooLarge(
        endpoint, f"{text}, more than this operation returns; check base_url and any proxy"
    )


def named_fields(body: bytes, names: Iterable[str]) -> list[str]:
    """Return those of `names` that are strings in the JSON of an error body, perhaps in a path.

    Never returns a value: the interface does not show error bodies, which may quote the request.
    """
    found = {each.decode() for each in FIELD_NAME.findall(body[:LONGEST_BODY])}
    return [name for name in dict.fromkeys(names) if name in found]


def error_for(
    endpoint: Endpoint, status: int, retry_after: float | None, fields: Sequence[str] = ()
) -> BmsError | None:
    """Return the error of a response's status, None for a whole 2xx; `fields` are those it refuses.

    The interface shows no status codes: our assumption is that they follow HTTP.
    """
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return _incomplete(endpoint, status)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Throttled(endpoint, "throttled (429)", status=status, retry_after=retry_after)
    if status in PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        text = f"service error ({status})"
        return ServiceUnavailable(endpoint, text, status=status, retry_after=retry_after)
    return _refusal(endpoint, status, fields)


def _incomplete(endpoint: Endpoint, status: int) -> BmsError | None:
    """Return the error of a 2xx without the whole result, whose rows would be taken for the whole list."""
    # A page is a part of its list.
    partial = status == HTTPStatus.PARTIAL_CONTENT and not endpoint.paged
    if partial and endpoint.has_range:
        text = "responded with a part of the list (206); a shorter range may succeed"
        return RangeRefused(endpoint, text, status=status)
    if endpoint.method == "GET" and (partial or status == HTTPStatus.ACCEPTED):
        return MalformedResponse(
            endpoint, f"responded without the whole result ({status})", status=status
        )
    return None


def _refusal(endpoint: Endpoint, status: int, fields: Sequence[str]) -> BmsError:
    if status < HTTPStatus.BAD_REQUEST:
        return Redirected(endpoint, f"unexpected status ({status})", status=status)
    if endpoint.name == "request_token":
        text = f"refused ({status}); check client id, application id and secret"
        if status in {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}:
            text = f"refused ({status}); check the base URL, which ends before /v1"
        return TokenRefused(endpoint, text, status=status)
    if endpoint.has_range and status in RANGE_REFUSALS:
        text = f"refused ({status}); a shorter range may succeed"
        return RangeRefused(endpoint, text, status=status)
    kind, text = REFUSALS.get(status, (Refused, f"refused ({status})"))
    if fields:
        text += f"; the response names the fields {', '.join(fields)}"
    return kind(endpoint, text, status=status)
