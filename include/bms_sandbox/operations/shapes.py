"""Base models of the interface's tables and their OpenAPI schemas.

The interface does not show which fields are required, so no schema names any; the dialect's
required_fields decides what a creation requires.
"""

from dataclasses import dataclass
from datetime import date
from inspect import Parameter
from typing import Annotated, Any, Final

from fastapi import Response
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidatorFunctionWrapHandler,
    create_model,
)
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


@dataclass(frozen=True)
class Models:
    """Creation body, detail and list item of a resource."""

    creation: type[Body]
    detail: type[Shape]
    item: type[Shape]

    @property
    def page(self) -> type[Shape]:
        """Paged list envelope."""
        name = self.item.__name__.replace("Item", "Page")
        data: Any = list[self.item]  # type: ignore[name-defined]  # a type created at run time
        page: type[Shape] = create_model(
            name, __base__=Shape, total_pages=(int, ...), data=(data, ...)
        )
        return page

    @property
    def detail_fields(self) -> tuple[str, ...]:
        """Names of the detail's fields."""
        return tuple(self.detail.model_fields)

    @property
    def item_fields(self) -> tuple[str, ...]:
        """Names of the list item's fields."""
        return tuple(self.item.model_fields)


REQUIRED: Final = Parameter.empty
"""Default of a parameter without a default."""

TYPES: Final[dict[str, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "integers": list[int],
    "day": Day,
    "instant": InstantText,
    "uuid": Uuid,
}


def models(name: str, table: str, **types: Any) -> Models:
    """Return the models of a resource from a table of its fields.

    Each line has a type, the models with these fields (c: creation, d: detail, l: list item) and the
    names of the fields. `types` are further types. A creation needs the fields of a type with `!`.
    """
    fields: dict[str, dict[str, Any]] = {"c": {}, "d": {}, "l": {}}
    for line in filter(None, map(str.strip, table.splitlines())):
        kind, members, *names = line.split()
        type_ = (TYPES | types)[kind.removesuffix("!")]
        for each in names:
            for member in members:
                fields[member][each] = (type_, ...)
            if "c" in members and not kind.endswith("!"):
                fields["c"][each] = (type_ | None, None)
    creation: type[Body] = create_model(f"{name}Creation", __base__=Body, **fields["c"])
    detail: type[Shape] = create_model(f"{name}Detail", __base__=Shape, **fields["d"])
    item: type[Shape] = create_model(f"{name}Item", __base__=Shape, **fields["l"])
    return Models(creation, detail, item)


def response(reply: Reply) -> Response:
    """Return a finished response to FastAPI unchanged."""
    result = Response(reply.body, reply.status)
    result.raw_headers.extend(reply.headers)
    return result
