"""Tests of the record types against the document of the sandbox, which its tests compare with the interface."""

import io
from typing import Any

import pytest
from rich.console import Console

from bms import records
from bms.endpoints import BY_NAME, BY_OPERATION
from bms.records import Record, described

RECORDS = sorted({*BY_OPERATION.values()}, key=lambda each: each.__name__)
KINDS = {
    "int": "integer",
    "str": "string",
    "Decimal": "number",
    "bool": "boolean",
    "list[int]": "integers",
    "list[dict[str, typing.Any]]": "objects",
}


def built(record_type: type[Record]) -> dict[str, str]:
    found: dict[str, str] = {}
    for field in described(record_type).values():
        text = str(field.type).removeprefix("typing.Annotated[").split(" | ")[0].split(",  ")[0]
        for name, kind in KINDS.items():
            if text in (name, f"<class '{name}'>", f"<class 'decimal.{name}'>", f"decimal.{name}"):
                found[field.name] = kind
        if "Annotated[str, " in str(field.type):
            found[field.name] = "string"
    return found


def resolved(document: Any, schema: Any) -> Any:
    if "$ref" not in schema:
        return schema
    return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]


def shape(document: Any, schema: Any) -> dict[str, Any]:
    """Return the members of an object, or of the objects in an array."""
    members = resolved(document, schema.get("items", schema))["properties"]
    return dict(members)


def kind_of(document: Any, schema: Any) -> str:
    kind = str(resolved(document, schema)["type"])
    return f"{resolved(document, schema['items'])['type']}s" if kind == "array" else kind


@pytest.mark.parametrize("record_type", RECORDS)
def test_only_keys_and_invoice_totals_are_required(record_type: type[Record]) -> None:
    required = {name for name, each in described(record_type).items() if each.required}
    totals = set(record_type.amounts()) if record_type is records.ClientInvoice else set()
    assert required == {record_type.KEY} | totals


@pytest.mark.parametrize("operation", BY_OPERATION)
def test_a_record_has_the_fields_and_types_that_the_sandbox_publishes(
    operation: str, published: dict[str, Any]
) -> None:
    endpoint = BY_NAME[operation]
    schema = published["paths"][endpoint.path]["get"]["responses"]["200"]
    members = shape(published, schema["content"]["application/json"]["schema"])
    if endpoint.paged:
        members = shape(published, members["data"])
    found = {name: kind_of(published, member) for name, member in members.items()}
    record_type = BY_OPERATION[operation]
    assert built(record_type) == found, "the record and the sandbox's shape differ"
    assert {*record_type.amounts()} == {name for name, kind in found.items() if kind == "number"}


def test_the_repr_shows_only_type_and_key() -> None:
    contact = records.Contact(id=7, last_name="Canary", email="canary@example.com")
    console = Console(file=io.StringIO())
    console.print(contact)
    for shown in (repr(contact), str(contact), f"{[contact]}", console.file.getvalue()):  # type: ignore[attr-defined]  # the StringIO above
        assert "Contact" in shown
        assert "7" in shown
        assert "anary" not in shown


def test_records_compare_all_fields() -> None:
    make = records.ContactItem
    assert make(id=1, city="Lyon") == make(id=1, city="Lyon") != make(id=1, city="Nice")
