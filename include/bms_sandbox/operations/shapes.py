"""Base models of the interface's tables and their OpenAPI schemas.

The interface does not show which fields are required, so no schema names any; the dialect's
required_fields decides what a creation requires.
"""

from datetime import date
from typing import Annotated, Any

from fastapi import Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidatorFunctionWrapHandler
from pydantic.functional_validators import WrapValidator

from bms_sandbox.errors import Reply


def as_published(schema: dict[str, Any]) -> None:
    """Reduce a schema to names, types and formats, as in the interface."""
    schema.pop("required", None)
    for name, prop in schema.get("properties", {}).items():
        kinds = [kind for kind in prop.pop("anyOf", []) if kind != {"type": "null"}]
        for key in ("title", "default"):
            prop.pop(key, None)
        schema["properties"][name] = prop | (kinds[0] if kinds else {})


class Shape(BaseModel):
    """A response model of the interface."""

    model_config = ConfigDict(json_schema_extra=as_published)


class Body(Shape):
    """A request model of the interface, without type coercion."""

    model_config = ConfigDict(strict=True, json_schema_extra=as_published)


def _within(bits: int) -> Any:
    def check(value: int) -> int:
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ValueError(f"not a {bits}-bit integer")
        return value

    return check


def _calendar_day(value: Any, parse: ValidatorFunctionWrapHandler) -> date:
    if not isinstance(value, str):
        raise ValueError("a date is a string of the form year-month-day")  # noqa: TRY004 -> pydantic's way to 422
    day: date = parse(value)
    return day


Int64 = Annotated[int, AfterValidator(_within(64)), Field(json_schema_extra={"format": "int64"})]
Int32 = Annotated[int, AfterValidator(_within(32)), Field(json_schema_extra={"format": "int32"})]
# "string (date)" in a body: strict models would refuse the string itself.
Day = Annotated[date, Field(strict=False), WrapValidator(_calendar_day)]
Uuid = Annotated[str, Field(json_schema_extra={"format": "uuid"})]
InstantText = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


def response(reply: Reply) -> Response:
    """Return a finished response to FastAPI unchanged."""
    result = Response(b"".join(reply.chunks), reply.status)
    result.raw_headers.extend(reply.headers)
    return result
