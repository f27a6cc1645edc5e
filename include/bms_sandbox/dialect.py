"""Dialects: the possible behaviours of the service where its interface is silent.

A dialect has one option for each open question of the interface. The defaults are our assumptions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

import msgspec

from bms_sandbox.forms import Forms, InvalidFormError
from bms_sandbox.operations import OPERATIONS

SCOPES = tuple(dict.fromkeys(each.scope for each in OPERATIONS if each.scope))

EmployeeFilter = Literal["ACTIVE", "STANDBY", "FORMER", "ALL"]
Language = Literal["EN", "FR"]


class InvalidDialectError(ValueError):
    """A dialect option has an unknown name or value."""


def _gap(default: Any, text: str) -> Any:
    return field(default=default, metadata={"text": text})


@dataclass(frozen=True, slots=True)
class Dialect:
    """One option for each open question of the interface; each default is our assumption."""

    # Authentication 1-5
    expires_in_unit: Literal["seconds", "milliseconds", "minutes"] = _gap(
        "seconds", "unit of expires_in in the token response"
    )
    token_lifetime: float = _gap(3600.0, "real life of a token, in seconds")
    token_bearer: Literal["none", "any", "secret"] = _gap(
        "none", "bearer that POST /v1/token requires: none, any non-empty one, the secret"
    )
    token_type: str = _gap("Bearer", "text of token_type; requests carry 'Bearer' in any case")
    scope_shape: Literal["array", "space", "missing", "empty", "address"] = _gap(
        "array",
        "scope of the token response: array, space-separated text, no field, empty array, array of addresses",
    )
    granted_scopes: tuple[str, ...] = _gap(SCOPES, "scopes granted to the client, comma-separated")
    one_live_token: bool = _gap(False, "a new token revokes the earlier tokens of the client")
    exp_claim: bool = _gap(True, "the JWT has an exp claim with its expiry")

    # Endpoints: status codes and bodies of creation
    token_status: Literal[200, 201] = _gap(200, "success status of POST /v1/token")
    create_status: Literal[200, 201] = _gap(201, "success status of the three creations")
    created_id: Literal["number", "string", "object", "named_object", "empty"] = _gap(
        "object",
        'body of a contact or consultant creation: 12, "12", {"id": 12}, {"id_contact": 12}, nothing',
    )
    required_fields: Literal["names", "none"] = _gap(
        "names",
        "a creation without first_name and last_name is refused (id_entity is always required)",
    )
    employee_starts_standby: bool = _gap(True, "a created employee starts on standby")

    # State filters
    default_filter: Literal["ACTIVE", "STANDBY", "FORMER", "ALL"] = _gap(
        "ACTIVE", "filter of the employee list if the request has none"
    )
    all_employees: Literal["all", "not_former", "active"] = _gap(
        "all", "filter=ALL of the employee list: all, without FORMER, without FORMER and STANDBY"
    )
    all_includes_deleted: bool = _gap(True, "filter=ALL of the contact list shows deleted contacts")
    unknown_entity: Literal["empty", "not_found"] = _gap(
        "empty", "list of an unknown id_entity: an empty array, or 404"
    )

    ignored_parameters: tuple[str, ...] = _gap(
        (),
        "query parameters without effect, [operation.]name, comma-separated: id_entity is always the"
        " first, filter ALL, the days are those of this month",
    )

    # Invoice range
    end_date: Literal["inclusive", "exclusive"] = _gap(
        "inclusive",
        "end_date of the invoice list: last day of the range, or first day after the range",
    )
    range_date: Literal["invoice_date", "created_on", "due_date", "sent_on"] = _gap(
        "invoice_date", "the date that start_date and end_date filter"
    )
    longest_range: int = _gap(0, "maximum days of a range, longer ranges are 422; 0: no limit")
    default_language: Literal["EN", "FR"] = _gap(
        "EN", "language of the *_name fields if the request has none"
    )

    # Paging and lists
    page_size_max: int = _gap(0, "maximum page_size; 0: no limit")
    page_size_step: int = _gap(1, "a page_size that is no multiple of this is 422")
    page_size_over: Literal["clamp", "clamp_rows", "refuse"] = _gap(
        "clamp",
        "a page_size above page_size_max: reduced to the maximum, reduced but total_pages of the request, or 422",
    )
    past_end: Literal["empty", "not_found", "last_page"] = _gap(
        "empty", "a page after the last: empty data, 404, the last page again"
    )
    no_rows: Literal["array", "null", "no_content", "not_found"] = _gap(
        "array",
        "an array without items: [], null, 204 without a body, or 404 (employees, invoices)",
    )
    total_pages_when_empty: Literal[0, 1] = _gap(0, "total_pages of a list without items")
    total_pages_rounding: Literal["up", "down", "beyond"] = _gap(
        "up", "total_pages counts a last page that is not full, full pages only, or a page too many"
    )
    total_pages_counts: Literal["all", "from_here", "after"] = _gap(
        "all", "total_pages counts all pages, those from the returned page on, or those after it"
    )
    list_order: Literal["id", "id_desc", "name", "modified_on"] = _gap(
        "id", "order of lists (invoices: id and id_desc only)"
    )

    replica_lag: float = _gap(
        0.0, "seconds that every second list response lags behind: newer rows are missing"
    )

    # Formats
    json_text: Literal["plain", "escaped"] = _gap(
        "plain", r"JSON as é, / and no blanks, or as \u00e9, \/ and blanks after separators"
    )
    date_format: Literal["date", "datetime", "zone", "ms", "utc"] = _gap(
        "date",
        "2026-03-31, 2026-03-31T00:00:00, 2026-03-31T00:00:00+02:00, 2026-03-31T00:00:00.000,"
        " 2026-03-30T22:00:00Z",
    )
    datetime_format: Literal["datetime", "zone", "ms", "utc_ms"] = _gap(
        "zone",
        "2026-03-31T09:15:30, ...30+02:00, ...30.123 (all three local), 2026-03-31T07:15:30.123Z",
    )
    time_zone: str = _gap("Europe/Paris", "time zone of the service, an IANA name")
    nulls: Literal["null", "absent", "year_one"] = _gap(
        "null", "fields without a value: null, omitted, null but dates 0001-01-01T00:00:00"
    )
    extra_fields: bool = _gap(False, "responses contain fields that the interface does not name")
    stored_forms: tuple[str, ...] = _gap(
        (), "forms of created rows in the store: rules [operation.]field=form, comma-separated"
    )
    shown_forms: tuple[str, ...] = _gap(
        (), "forms of fields in responses: rules [operation.]field=form, comma-separated"
    )

    # Errors and limits
    error_body: Literal["json", "problem", "text", "empty"] = _gap(
        "json", "error body: a JSON object, RFC 9457 problem+json, plain text, nothing"
    )
    retry_after: Literal["seconds", "date", "absent"] = _gap(
        "seconds", "Retry-After of 429 and 503: seconds, an HTTP date, no such header"
    )
    rate_limit: float = _gap(0.0, "requests per second, the rest are 429; 0: no limit")
    base_path: str = _gap("", "prefix of every path, for instance /tenant/api")

    def changed(self, options: Mapping[str, Any]) -> "Dialect":
        """Return this dialect with changed options (text or JSON value by name).

        Raises `InvalidDialectError` with the allowed values.
        """
        kinds = get_type_hints(type(self))
        unknown = set(options) - set(kinds)
        if unknown:
            raise InvalidDialectError(
                f"unknown dialect option: {', '.join(sorted(unknown))}; known options: {', '.join(kinds)}"
            )
        return replace(self, **{n: _read(n, kinds[n], v) for n, v in options.items()})

    def as_json(self) -> dict[str, Any]:
        """Return all options as JSON values by name."""
        return asdict(self)


def parse_options(options: Iterable[str]) -> dict[str, str]:
    """Split `name=value` options of the command line into a mapping."""
    values = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise InvalidDialectError(f"a dialect option has the form name=value, not {option!r}")
        values[name.strip().replace("-", "_")] = value.strip()
    return values


def describe() -> str:
    """Return the options as text: name, allowed values, default, meaning."""
    kinds = get_type_hints(Dialect)
    lines = []
    for option in fields(Dialect):
        default = ",".join(option.default) if isinstance(option.default, tuple) else option.default
        shown = f"all {len(SCOPES)}" if option.default is SCOPES else repr(default)
        lines.append(
            f"  {option.name} = {_allowed(kinds[option.name])}  [{shown}]\n      {option.metadata['text']}"
        )
    return "\n".join(lines)


def _allowed(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "|".join(str(value) for value in get_args(kind))
    return {bool: "true|false", int: "a whole number", float: "a number", str: "text"}.get(
        kind, "comma-separated texts"
    )


def _read(name: str, kind: Any, value: Any) -> Any:
    """Return a text or JSON value as the type of option `name`."""
    text = str(value).strip()
    refusal = InvalidDialectError(f"{name} can't be {value!r}; allowed: {_allowed(kind)}")
    if get_origin(kind) is Literal:
        allowed = {str(each): each for each in get_args(kind)}
        if text not in allowed:
            raise refusal
        return allowed[text]
    if kind in (bool, int, float):
        try:
            found: float = msgspec.convert(text.lower(), kind, strict=False)
        except msgspec.ValidationError:
            raise refusal from None
        if found < 0:
            raise refusal
        return found
    if kind is str:
        return _text(name, text)
    return _texts(name, value if isinstance(value, list | tuple) else text.split(","))


def _text(name: str, text: str) -> str:
    if name == "time_zone":
        try:
            ZoneInfo(text)
        except (KeyError, ValueError, OSError):
            raise InvalidDialectError(f"time_zone can't be {text!r}: not an IANA zone") from None
    if name == "base_path":
        return "/" + text.strip("/") if text.strip("/") else ""
    return text


def _texts(name: str, parts: Iterable[Any]) -> tuple[str, ...]:
    texts = tuple(str(part).strip() for part in parts if str(part).strip())
    if name.endswith("_forms"):
        try:
            Forms(texts, stored=name == "stored_forms")
        except InvalidFormError as error:
            raise InvalidDialectError(f"{name}: {error}") from None
    return texts
