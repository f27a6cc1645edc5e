"""What can go wrong, as types.

BmsError                     .endpoint (name), .status (or None), .retriable
├── MissingScope             the token lacks the endpoint's scope; nothing was sent
├── TokenRefused             the service refuses the credentials
├── Unauthorized             401 also with new tokens, past the retry budget
├── Refused                  any other 4xx: the service understood and said no
│   ├── Forbidden            403
│   ├── NotFound             404
│   └── RangeRefused         a list of invoices refused, or too large; a shorter range may pass
├── Redirected               the service points elsewhere; the token was not taken there
├── Throttled                429 past the retry budget; .retry_after
├── ServiceUnavailable       5xx or 408 past the retry budget; .retry_after
├── ConnectionFailed         no connection, or it broke; .sent
├── Timeout                  no whole answer in time; .sent
├── MalformedResponse        a response that is not the JSON the interface describes
│   └── TooLarge             longer than any such answer; not read to its end
├── InvalidRecords           rows with a missing or mistyped key or money field; .rejected
└── AmbiguousWrite           a create that may or may not have happened; .reason; never repeated

Before any call, when a client opens: `InvalidTlsFile`, a setting that names no usable file; .setting.

Error codes and error bodies are not shown by the interface, so nothing is read from a body, and no
text below carries one: a text names operation, status and counts, never values.
`retriable` says that the same call may succeed later and does no harm if repeated;
`retry_for_hours` that it may have to wait for the end of an outage.
"""

from collections.abc import Collection, Sequence
from http import HTTPStatus
from typing import ClassVar, Final

from bms.endpoints import Endpoint


class BmsError(Exception):
    """Base of every error of a call; `str()` is safe to log."""

    retriable: ClassVar[bool] = False
    retry_for_hours: ClassVar[bool] = False
    """Whether the service can't be reached or is busy, which may last for hours and then passes."""

    def __init__(self, endpoint: Endpoint, text: str, *, status: int | None = None) -> None:
        self.endpoint = endpoint.name
        self.status = status
        self.tries = 1
        """Requests sent for this call, those for a token aside."""
        self.elapsed: float | None = None
        """Seconds from the start of the call, waits included."""
        super().__init__(f"{endpoint}: {text}")

    def __str__(self) -> str:
        text = super().__str__()
        if self.elapsed is None:
            return text
        return f"{text} (tries: {self.tries}, seconds: {self.elapsed:.1f})"


class MissingScope(BmsError):
    """The token lacks the scope an endpoint needs; raised before anything is sent."""

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
    """The token operation answered 4xx: client id, application id or secret is not accepted."""


class Unauthorized(BmsError):
    """New tokens were refused too, past the retry budget.

    Retriable: where the service keeps one live token per client, another process that renews in
    the same moment looks like this.
    """

    retriable = True


class Refused(BmsError):
    """The service answered 4xx: it understood and did nothing."""


class Forbidden(Refused):
    """The service answered 403."""


class NotFound(Refused):
    """The service answered 404."""


class RangeRefused(Refused):
    """The service refused a list of invoices (400, 413, 416, 422), or it is too large to be read.

    A shorter range may pass.

    A longest range is not shown by the interface: our assumption is that it is told by one of
    these statuses.
    """


class Redirected(BmsError):
    """The service answered with a redirect that is not followed: the token stays with its host."""


class Throttled(BmsError):
    """The service answered 429; `retry_after` is the wait it asked for, seconds, or None."""

    retriable = True
    retry_for_hours = True

    def __init__(
        self, endpoint: Endpoint, text: str, *, status: int, retry_after: float | None
    ) -> None:
        self.retry_after = retry_after
        super().__init__(endpoint, text, status=status)


class ServiceUnavailable(BmsError):
    """The service answered 5xx or 408; `retry_after` is the wait it asked for, seconds, or None."""

    retriable = True
    retry_for_hours = True

    def __init__(
        self, endpoint: Endpoint, text: str, *, status: int, retry_after: float | None
    ) -> None:
        self.retry_after = retry_after
        super().__init__(endpoint, text, status=status)


class ConnectionFailed(BmsError):
    """No connection came about (`sent` False), or it broke before the answer was whole."""

    retriable = True
    retry_for_hours = True

    def __init__(self, endpoint: Endpoint, text: str, *, sent: bool) -> None:
        self.sent = sent
        super().__init__(endpoint, text)


class Timeout(BmsError):
    """No whole answer within the time; `sent` False when not even a connection came about."""

    retriable = True
    retry_for_hours = True

    def __init__(self, endpoint: Endpoint, text: str, *, sent: bool) -> None:
        self.sent = sent
        super().__init__(endpoint, text)


class MalformedResponse(BmsError):
    """A 2xx whose body is truncated, not JSON, or not the described envelope."""

    retriable = True


class TooLarge(MalformedResponse):
    """An answer longer than any of its kind: asked for again it would be as long."""

    retriable = False


class InvalidRecords(BmsError):
    """Rows without a usable key or money field; names row, field and code, never a value."""

    def __init__(self, endpoint: Endpoint, rejected: Sequence[tuple[int, str | None, str]]) -> None:
        self.rejected = tuple(rejected)
        shown = "; ".join(f"row {i}: {f or 'row'} {code}" for i, f, code in self.rejected[:10])
        more = f"; and {len(self.rejected) - 10} more" if len(self.rejected) > 10 else ""  # noqa: PLR2004 -- the ten shown above
        super().__init__(endpoint, f"{len(self.rejected)} invalid rows: {shown}{more}")


class AmbiguousWrite(BmsError):
    """A create was sent and its outcome is unknown; `reason` is a short code.

    `retry_after` is the wait that the service asked for with 429 or 503, in seconds, or None. Never repeated by the client, and not to be repeated by its caller before the service's own
    list has been asked whether the record exists.
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
            f"sent, outcome unknown ({reason}); look for the record in the service before "
            "sending it again",
            status=status,
        )


class InvalidTlsFile(ValueError):
    """What `setting` (`verify` or `cert`) names can't be used; raised before anything is sent.

    `said` goes on from the setting's name, and quotes neither path nor content.
    """

    retriable = False

    def __init__(self, setting: str, said: str) -> None:
        self.setting = setting
        self.said = said
        super().__init__(f"{setting} {said}")


RANGE_REFUSALS: Final = frozenset({400, 413, 416, 422})

REFUSALS: Final[dict[int, tuple[type[BmsError], str]]] = {
    401: (Unauthorized, "not accepted (401), also with new tokens"),
    403: (Forbidden, "forbidden (403)"),
    404: (NotFound, "not found (404)"),
}


def too_large(endpoint: Endpoint, largest: int) -> BmsError:
    """Return the error of an answer longer than `largest` bytes; its end was not read."""
    text = f"answered more than {largest} bytes"
    if endpoint.name == "list_client_invoices":
        return RangeRefused(endpoint, f"{text}; a shorter range may pass")
    if endpoint.paged:
        return TooLarge(endpoint, f"{text}; a smaller page_size may pass")
    return TooLarge(
        endpoint, f"{text}, which no such answer has; look at base_url and what is on the way there"
    )


def error_for(endpoint: Endpoint, status: int, retry_after: float | None) -> BmsError | None:
    """Return the error an answer's status means, or None for a 2xx.

    Status codes are not shown by the interface: our assumption is that they mean what HTTP says.
    """
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return None
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Throttled(endpoint, "throttled (429)", status=status, retry_after=retry_after)
    if status == HTTPStatus.REQUEST_TIMEOUT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        text = f"the service failed ({status})"
        return ServiceUnavailable(endpoint, text, status=status, retry_after=retry_after)
    return _refusal(endpoint, status)


def _refusal(endpoint: Endpoint, status: int) -> BmsError:
    if status < HTTPStatus.BAD_REQUEST:
        return Redirected(endpoint, f"answered an unexpected status ({status})", status=status)
    if endpoint.name == "request_token":
        text = f"refused ({status}); check client id, application id and secret"
        return TokenRefused(endpoint, text, status=status)
    if endpoint.name == "list_client_invoices" and status in RANGE_REFUSALS:
        text = f"refused ({status}); a shorter range of days may pass"
        return RangeRefused(endpoint, text, status=status)
    kind, text = REFUSALS.get(status, (Refused, f"refused ({status})"))
    return kind(endpoint, text, status=status)
