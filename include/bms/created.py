"""Identifiers of a created record, from the response to its create."""

import re
from contextlib import suppress
from typing import Any, Final

import msgspec

from bms.endpoints import Endpoint
from bms.errors import MalformedResponse
from bms.field_values import LONGEST, UUID, field_value
from bms.json_content import UNREADABLE, json_content
from bms.records import CreatedEmployee
from bms.records.declaration import canonical_guid
from bms.responses import CreatedId

_CREATED_EMPLOYEE: Final = msgspec.structs.fields(CreatedEmployee)


def read_created_employee(endpoint: Endpoint, body: bytes) -> CreatedEmployee:
    """Decode an employee creation response, or raise `MalformedResponse` if its guid is no UUID.

    Zeros are no UUID: a service that fails may return an object of default values.
    The guid proves that the employee exists: another field that is missing or mistyped is None.
    """
    values: dict[str, Any] = {}
    with suppress(*UNREADABLE):
        content = json_content(body)
        for field in _CREATED_EMPLOYEE if isinstance(content, dict) else ():
            with suppress(ValueError):
                values[field.name], _ = field_value(content.get(field.name), field.type)
    guid = values.pop("guid_employee", None) or ""
    if not UUID.fullmatch(guid) or not guid.strip(
        "0-"
    ):  # no operation reads the employee of another text
        raise MalformedResponse(endpoint, "responded 2xx without a UUID as guid_employee")
    return CreatedEmployee(guid_employee=canonical_guid(guid), **values)


def read_created_id(endpoint: Endpoint, name: str, body: bytes) -> CreatedId:
    """Decode the id of a created record, or raise `MalformedResponse`.

    The interface does not show the body. Our assumption: the id as a number or a text, alone or as
    the member `id` or `name` of an object.
    """
    try:
        content = json_content(body)
    except UNREADABLE:
        content = None
    if isinstance(content, dict):
        content = content.get("id", content.get(name))
    if isinstance(content, str) and re.fullmatch(rf"[0-9]{{1,{LONGEST}}}", content):
        content = int(content)
    # Zero is no id: a service that fails may return an object of default values.
    if isinstance(content, int) and not isinstance(content, bool) and content != 0:
        return CreatedId(content)
    raise MalformedResponse(endpoint, "responded 2xx without an id")
