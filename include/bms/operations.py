"""Methods of the clients, from the table of operations: signatures, documentation and queries."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from http import HTTPStatus
from inspect import Parameter, Signature
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

from bms import endpoints, field_values
from bms.endpoints import ENDPOINTS, Endpoint, Param
from bms.errors import NotFound

Call = Callable[[Any, Endpoint, dict[str, Any]], Any]
"""Calls an operation for a client, with the arguments by name."""

_EITHER: Final = Parameter.POSITIONAL_OR_KEYWORD
_SELF: Final = Parameter("self", _EITHER)
LITERALS: Final = {
    each: name for name, each in vars(endpoints).items() if get_origin(each) is Literal
}
"""Names of the types with a list of values."""
_TEXTS: Final[Mapping[Any, str]] = {UUID: "str", **LITERALS}
_RANGE: Final = ("start_date", "end_date")
_WHAT: Final = {
    "list": "Return the {noun}s",
    "read": "Return one {noun}",
    "create": "Create one {noun} from its creation body",
}


def methods(call: Call, pages: Call | None = None) -> dict[str, Callable[..., Any]]:
    """Return the methods of a client by name; each passes its bound arguments to `call`.

    With `pages`, the client is synchronous, and has a further method for each list on pages.
    """
    blocking = pages is not None
    made = {
        each.name: _method(each.name, each, call, _signature(each, blocking=blocking))
        for each in ENDPOINTS
        if each.kind in _WHAT
    }
    for each in ENDPOINTS:
        if pages is not None and each.paged:
            record = each.record.__name__ if each.record else "Any"
            signature = made[each.name].__signature__.replace(
                return_annotation=f"Iterator[Page[{record}]]"
            )
            made[f"{each.noun}_pages"] = _method(f"{each.noun}_pages", each, pages, signature)
    return made


def list_query(
    endpoint: Endpoint, arguments: Mapping[str, Any], *, end_inclusive: bool
) -> dict[str, Any]:
    """Return the query of a request; raise `TypeError` or `ValueError` for unusable days.

    If the service excludes the end of a range, the query names the next day.
    """
    found = dict(arguments)
    days = {each.name: found[each.name] for each in endpoint.params if each.type is date}
    for name, day in days.items():
        if isinstance(day, datetime):  # a subclass of date; its day depends on the time zone
            raise TypeError(f"{name} takes a date, not a date-time")
    if {*_RANGE} <= days.keys():
        first, last = (days[name] for name in _RANGE)
        if last < first:  # the service would return an empty list
            raise ValueError("the last day is before the first day: swap them")
        days["end_date"] = last if end_inclusive else last + timedelta(days=1)
    return found | {name: day.isoformat() for name, day in days.items()}


def path_values(endpoint: Endpoint, arguments: Mapping[str, Any]) -> dict[str, str | int]:
    """Return the values of the path; raise `NotFound` without a request for a text that is no UUID."""
    for each in endpoint.params:
        # Any other text could address another path.
        if each.type is UUID and not field_values.UUID.fullmatch(arguments[each.name]):
            text = f"{each.name} is no UUID; nothing was sent"
            raise NotFound(endpoint, text, status=HTTPStatus.NOT_FOUND)
    return {
        each.name: int(arguments[each.name]) if each.type is int else arguments[each.name]
        for each in endpoint.params
    }


def _method(name: str, endpoint: Endpoint, call: Call, signature: Signature) -> Any:
    def method(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        return call(arguments.pop("self"), endpoint, arguments)

    method.__name__ = name
    method.__signature__ = signature  # type: ignore[attr-defined]  # read by `inspect`
    what = _WHAT[endpoint.kind].format(noun=endpoint.noun.replace("_", " "))
    title = f"{what}{' page by page' * (name != endpoint.name)} ({endpoint})."
    method.__doc__ = f"{title}\n\n{endpoint.note}" if endpoint.note else title
    return method


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
