"""What the interface doesn't show, one explicit field per gap.

A dialect is one consistent reading of every gap of the interface. The defaults are our
assumptions; a client is right only if it works under every reading it claims to support.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from bms_sandbox.forms import Forms, UnknownFormError

SCOPES = (
    "write:employee",
    "read:employee",
    "read:invoice_client",
    "read:contact",
    "write:contact",
    "read:consultant",
    "write:consultant",
)

EmployeeFilter = Literal["ACTIVE", "STANDBY", "FORMER", "ALL"]
Language = Literal["EN", "FR"]


class UnknownReadingError(ValueError):
    """A dialect was given a name or a value that it doesn't have."""


def _gap(default: Any, text: str) -> Any:
    return field(default=default, metadata={"text": text})


@dataclass(frozen=True, slots=True)
class Dialect:
    """One reading of every gap of the interface; each default is our assumption."""

    # Authentication 1-5
    expires_in_unit: Literal["seconds", "milliseconds", "minutes"] = _gap(
        "seconds", "unit of expires_in in the token response"
    )
    token_lifetime: float = _gap(3600.0, "real life of a token, in seconds")
    token_bearer: Literal["none", "any", "secret"] = _gap(
        "none", "bearer wanted by POST /v1/token itself: none, any non-empty one, the secret"
    )
    token_type: str = _gap("Bearer", "text of token_type; requests carry 'Bearer' whatever it says")
    scope_shape: Literal["array", "space", "missing", "empty"] = _gap(
        "array", "scope of the token response: array, space-separated text, no field, empty array"
    )
    granted_scopes: tuple[str, ...] = _gap(SCOPES, "scopes granted to the client, comma-separated")
    one_live_token: bool = _gap(False, "a new token ends the life of the client's earlier ones")
    exp_claim: bool = _gap(True, "the JWT says its expiry in an exp claim")

    # Endpoints: status codes and bodies of creation
    token_status: Literal[200, 201] = _gap(200, "success status of POST /v1/token")
    create_status: Literal[200, 201] = _gap(201, "success status of the three creations")
    created_id: Literal["number", "string", "object", "named_object", "empty"] = _gap(
        "object",
        'body of a contact or consultant creation: 12, "12", {"id": 12}, {"id_contact": 12}, nothing',
    )
    required_fields: Literal["names", "none"] = _gap(
        "names",
        "creation refuses a body without first_name and last_name (id_entity: always needed)",
    )
    employee_starts_standby: bool = _gap(True, "a created employee starts on standby")

    # State filters
    default_filter: Literal["ACTIVE", "STANDBY", "FORMER", "ALL"] = _gap(
        "ACTIVE", "filter of the employee list when not given"
    )
    all_includes_deleted: bool = _gap(True, "filter=ALL of the contact list shows deleted contacts")
    unknown_entity: Literal["empty", "not_found"] = _gap(
        "empty", "a list for an id_entity that doesn't exist: an empty array, or 404"
    )

    # Invoice range
    end_date: Literal["inclusive", "exclusive"] = _gap(
        "inclusive", "end_date of the invoice list belongs to the range, or is the first day after"
    )
    range_date: Literal["invoice_date", "created_on", "due_date", "sent_on"] = _gap(
        "invoice_date", "the date that start_date and end_date filter"
    )
    longest_range: int = _gap(0, "days of the longest range answered, longer ones are 422; 0: any")
    default_language: Literal["EN", "FR"] = _gap(
        "EN", "language of the *_name fields when not given"
    )

    # Paging and lists
    page_size_max: int = _gap(0, "largest page_size served; 0: any")
    page_size_over: Literal["clamp", "refuse"] = _gap(
        "clamp", "a page_size above page_size_max: served with the maximum, or 422"
    )
    past_end: Literal["empty", "not_found", "last_page"] = _gap(
        "empty", "a page after the last: empty data, 404, the last page again"
    )
    total_pages_when_empty: Literal[0, 1] = _gap(0, "total_pages of a list without items")
    list_order: Literal["id", "id_desc", "name", "modified_on"] = _gap(
        "id", "order of lists (invoices know id and id_desc only)"
    )

    # Formats
    date_format: Literal["date", "datetime", "zone", "ms"] = _gap(
        "date",
        "2026-03-31, 2026-03-31T00:00:00, 2026-03-31T00:00:00+02:00, 2026-03-31T00:00:00.000",
    )
    datetime_format: Literal["datetime", "zone", "ms", "utc_ms"] = _gap(
        "zone",
        "2026-03-31T09:15:30, ...30+02:00, ...30.123 (all three local), 2026-03-31T07:15:30.123Z",
    )
    time_zone: str = _gap("Europe/Paris", "the service's own zone, an IANA name")
    nulls: Literal["null", "absent"] = _gap("null", "fields without value: null, or left out")
    extra_fields: bool = _gap(False, "answers carry fields that the interface doesn't name")
    stored_forms: tuple[str, ...] = _gap(
        (), "forms in which created rows are stored: rules [operation.]field=form, comma-separated"
    )
    shown_forms: tuple[str, ...] = _gap(
        (), "forms in which answers show fields: rules [operation.]field=form, comma-separated"
    )

    # Errors and limits
    error_body: Literal["json", "problem", "text", "empty"] = _gap(
        "json", "error body: a JSON object, RFC 9457 problem+json, plain text, nothing"
    )
    retry_after: Literal["seconds", "date", "absent"] = _gap(
        "seconds", "Retry-After of 429 and 503: seconds, an HTTP date, no such header"
    )
    rate_limit: float = _gap(0.0, "requests answered per second, the rest are 429; 0: no limit")
    base_path: str = _gap("", "prefix of every path, for instance /tenant/api")

    def changed(self, readings: Mapping[str, Any]) -> "Dialect":
        """Return this dialect with `readings` (name to text or JSON value) put in.

        Raises UnknownReadingError naming the field and what it allows.
        """
        kinds = get_type_hints(type(self))
        unknown = set(readings) - set(kinds)
        if unknown:
            raise UnknownReadingError(
                f"no such dialect field: {', '.join(sorted(unknown))}; there are: {', '.join(kinds)}"
            )
        return replace(self, **{n: _read(n, kinds[n], v) for n, v in readings.items()})

    def as_json(self) -> dict[str, Any]:
        """Return every reading by name, as JSON values."""
        return asdict(self)


def parse_options(options: Iterable[str]) -> dict[str, str]:
    """Split `name=value` options of the command line into a mapping."""
    readings = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise UnknownReadingError(f"a dialect option reads name=value, not {option!r}")
        readings[name.strip().replace("-", "_")] = value.strip()
    return readings


def describe() -> str:
    """Return one line per gap: name, allowed readings, default, meaning."""
    kinds = get_type_hints(Dialect)
    lines = []
    for gap in fields(Dialect):
        default = ",".join(gap.default) if isinstance(gap.default, tuple) else gap.default
        shown = "all seven" if gap.default is SCOPES else repr(default)
        lines.append(
            f"  {gap.name} = {_allowed(kinds[gap.name])}  [{shown}]\n      {gap.metadata['text']}"
        )
    return "\n".join(lines)


def _allowed(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "|".join(str(value) for value in get_args(kind))
    return {bool: "true|false", int: "a whole number", float: "a number", str: "text"}.get(
        kind, "comma-separated texts"
    )


def _read(name: str, kind: Any, value: Any) -> Any:
    """Return `value` (a text or a JSON value) as the kind that field `name` has."""
    text = str(value).strip()
    refusal = UnknownReadingError(f"{name} can't be {value!r}; allowed: {_allowed(kind)}")
    if get_origin(kind) is Literal:
        for allowed in get_args(kind):
            if str(allowed) == text:
                return allowed
        raise refusal
    if kind is bool:
        truths = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() not in truths:
            raise refusal
        return truths[text.lower()]
    if kind in (int, float):
        try:
            number: int | float = kind(text)
        except ValueError:
            raise refusal from None
        if number < 0:
            raise refusal
        return number
    if kind is str:
        return _text(name, text)
    return _texts(name, value if isinstance(value, list | tuple) else text.split(","))


def _text(name: str, text: str) -> str:
    if name == "time_zone":
        try:
            ZoneInfo(text)
        except (KeyError, ValueError, OSError):
            raise UnknownReadingError(f"time_zone can't be {text!r}: not an IANA zone") from None
    if name == "base_path":
        return "/" + text.strip("/") if text.strip("/") else ""
    return text


def _texts(name: str, parts: Iterable[Any]) -> tuple[str, ...]:
    texts = tuple(str(part).strip() for part in parts if str(part).strip())
    if name.endswith("_forms"):
        try:
            Forms(texts, stored=name == "stored_forms")
        except UnknownFormError as error:
            raise UnknownReadingError(f"{name}: {error}") from None
    return texts
