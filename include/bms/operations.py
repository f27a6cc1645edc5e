"""Methods of the clients, from the table of operations: signatures, documentation and queries."""

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from difflib import get_close_matches
from http import HTTPStatus
from inspect import Parameter, Signature
from typing import Any, Final, Literal, Protocol, TypeVar, get_args, get_origin
from uuid import UUID

from bms import endpoints, field_values
from bms.arguments import BadArgument, NotNegative, Positive, argument
from bms.endpoints import ENDPOINTS, Endpoint, Param
from bms.errors import NotFound

C = TypeVar("C", bound="HasRequest")
Call = Callable[[Any, Endpoint, dict[str, Any]], Any]
"""Calls an operation for a client, with the arguments by name."""

_EITHER: Final = Parameter.POSITIONAL_OR_KEYWORD
_SELF: Final = Parameter("self", _EITHER)
LITERALS: Final = {
    each: name for name, each in vars(endpoints).items() if get_origin(each) is Literal
}
"""Names of the types with a list of values."""
_TEXTS: Final[Mapping[Any, str]] = {UUID: "str", **LITERALS}
_NAME: Final = re.compile("[a-z_0-9]+")
"""A key that may be shown; others may be personal data, in a body of another shape."""
_PAGING: Final = (
    "`page_size` is by default the connection's. The interface shows no maximum for it, and the "
    "service may return fewer rows than requested."
)


class HasRequest(Protocol):
    """A client that calls an operation with the arguments of its method."""

    def _request(self, endpoint: Endpoint, arguments: dict[str, Any]) -> Any: ...


def with_operations(cls: type[C]) -> type[C]:
    """Add a method for each operation to a client; `_request` calls it with the bound arguments.

    A client with `_request_pages` is synchronous, and has a further method for each list on pages.
    """
    pages: Call | None = getattr(cls, "_request_pages", None)
    for each in ENDPOINTS:
        if each.kind == "request":
            continue
        signature = _signature(each, blocking=pages is not None)
        text = _text(each, signature.return_annotation, blocking=pages is not None)
        setattr(cls, each.name, _method(each.name, each, cls._request, signature, text))
        if pages is not None and each.paged and each.record is not None:
            signature = signature.replace(
                return_annotation=f"Iterator[Page[{each.record.__name__}]]"
            )
            name, text = f"{each.noun}_pages", f"Yield the pages of the {each.noun}s in order"
            setattr(cls, name, _method(name, each, pages, signature, f"{text} ({each})."))
    return cls


def typed(endpoint: Endpoint, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments in the types of the operation; raise `BadArgument`."""
    own = {each.name: each.type for each in endpoint.params if each.type is not UUID}
    # `paging` requests page 0 of a service that may count from 0.
    types = {"page_number": NotNegative, "page_size": Positive | None, **own}
    if endpoint.kind == "create":
        _check_body(endpoint, arguments.get("body"))
    return {
        name: argument(name, value, types[name]) if name in types else value
        for name, value in arguments.items()
    }


def _check_body(endpoint: Endpoint, body: Any) -> None:
    """Raise `BadArgument` for a body with an unknown field: nobody could add its value later."""
    if not (isinstance(body, Mapping) and body):
        raise BadArgument("body takes a dictionary with at least one field")
    if unknown := [each for each in body if each not in endpoint.fields]:
        likely = {n for each in unknown for n in get_close_matches(str(each), endpoint.fields, 1)}
        names = ", ".join(n if _NAME.fullmatch(n) else "…" for n in map(str, unknown))
        hint = f" (perhaps {', '.join(sorted(likely))})" if likely else ""
        raise BadArgument(f"{endpoint.name} has no field {names}{hint}; nothing was sent")


def list_query(
    endpoint: Endpoint, arguments: Mapping[str, Any], *, end_inclusive: bool
) -> dict[str, Any]:
    """Return the query of a request; raise `BadArgument` for a reversed range.

    If the service excludes the end of a range, the query names the next day.
    """
    days = {each.name: arguments[each.name] for each in endpoint.params if each.type is date}
    if endpoint.has_range:
        first, last = days["start_date"], days["end_date"]
        if last < first:  # the service would return an empty list
            raise BadArgument("the last day is before the first day: swap them")
        days["end_date"] = last if end_inclusive else last + timedelta(days=1)
    return {**arguments, **{name: day.isoformat() for name, day in days.items()}}


def path_values(endpoint: Endpoint, arguments: Mapping[str, Any]) -> dict[str, str | int]:
    """Return the values of the path; raise `NotFound` without a request for a text that is no UUID."""
    for each in endpoint.params:
        # Any other text could address another path.
        if each.type is UUID and not field_values.UUID.fullmatch(str(arguments[each.name])):
            text = f"{each.name} is no UUID; nothing was sent"
            raise NotFound(endpoint, text, status=HTTPStatus.NOT_FOUND)
    return {each.name: str(arguments[each.name]) for each in endpoint.params}


def _method(name: str, endpoint: Endpoint, call: Call, signature: Signature, text: str) -> Any:
    def method(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = typed(endpoint, bound.arguments)
        return call(arguments.pop("self"), endpoint, arguments)

    method.__name__ = name
    method.__signature__ = signature  # type: ignore[attr-defined]  # read by `inspect`
    method.__doc__ = text
    return method


def _text(endpoint: Endpoint, result: str, *, blocking: bool) -> str:
    """Return the documentation of a method."""
    noun = endpoint.noun.replace("_", " ")
    what = {
        "Iterator": f"Yield the {noun}s of all pages",
        "Page": f"Return one page of the {noun}s, numbered from 1",
        "Rows": f"Return the {noun}s of an entity",
    }.get(result.partition("[")[0])
    one = "Create one" if endpoint.kind == "create" else "Return one"
    notes = [endpoint.note] * bool(endpoint.note) + [_PAGING] * endpoint.paged
    if blocking and any(each.type is date for each in endpoint.params):
        notes.append("Days may be text such as Airflow's `ds`, which is the day in UTC.")
    return "\n\n".join([f"{what or f'{one} {noun}'} ({endpoint}).", *notes])


def _signature(endpoint: Endpoint, *, blocking: bool) -> Signature:
    own = [_parameter(each, blocking=blocking) for each in endpoint.params]
    if endpoint.kind == "read":
        own = [each.replace(kind=_EITHER) for each in own]
    if endpoint.kind == "create":
        own = [Parameter("body", _EITHER, annotation="Mapping[str, Any]")]
        if not blocking:
            own.append(_keyword("before_send", "BeforeSend | None", None))
    if endpoint.paged:
        own.append(_keyword("page_size", "int | None", None))
        if not blocking:
            own.append(_keyword("page_number", "int", 1))
    return Signature([_SELF, *own], return_annotation=_result(endpoint, blocking=blocking))


def _parameter(param: Param, *, blocking: bool) -> Parameter:
    accepted = [each for each in get_args(param.type) if each is not type(None)]
    type_ = param.type if param.required else accepted[0]
    text = _TEXTS.get(type_) or type_.__name__
    if type_ is date and blocking:
        text = "date | str"
    if not param.required:
        return _keyword(param.name, f"{text} | None", None)
    return _keyword(param.name, text, Parameter.empty)


def _keyword(name: str, annotation: str, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _result(endpoint: Endpoint, *, blocking: bool) -> str:
    if endpoint.kind == "create":
        return endpoint.created.__name__ if endpoint.created else "CreatedId"
    record = endpoint.record.__name__ if endpoint.record else "Any"
    if endpoint.kind == "read":
        return record if blocking else f"Detail[{record}]"
    if not endpoint.paged:
        return f"Rows[{record}]"
    return f"Iterator[{record}]" if blocking else f"Page[{record}]"
