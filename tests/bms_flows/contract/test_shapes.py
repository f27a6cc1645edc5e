"""Tests of findings from the shapes of responses."""

from typing import Any

import pytest

from bms.endpoints import BY_NAME
from bms.records import ContactItem
from bms.transport import Response
from bms_flows.contract.replies import Reply
from bms_flows.contract.shapes import (
    MAX_CODES,
    body_shape,
    codes,
    datetime_zone,
    offsets,
    undocumented,
)

NOON = 1_774_958_400.0  # 2026-03-31T12:00:00Z


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        (b" ", "empty"),
        (b"Bad request", "text"),
        (b"[1]", "json"),
        (b'{"message": "no", "code": 1, "two words": 2}', "json: code, message"),
        (b'{"message": "half of a character: \\ud83d"}', "json: message"),
        (b'{"type": "x", "title": "y", "status": 404}', "problem: status, title, type"),
    ],
)
def test_the_shape_of_an_error_body(body: bytes, shape: str) -> None:
    assert body_shape(Reply(Response(404, {}, body, 0.0), BY_NAME["read_contact"])) == shape


@pytest.mark.parametrize(
    ("text", "notation", "advised"),
    [
        ("2026-03-31T13:00:00", "none", False),
        ("2026-03-31T15:00:00", "none", True),
        ("2026-03-31T15:00:00Z", "Z", False),
        ("2026-03-31T15:00:00+02:00", "offset", False),
    ],
)
def test_a_timestamp_in_the_future_contradicts_the_zone(
    text: str, notation: str, advised: bool
) -> None:
    finding = datetime_zone([{"created_on": text}], NOON, "Europe/Paris")
    assert finding.value == [notation]
    assert ("set time_zone to a zone further east" in str(finding.advice)) is advised


@pytest.mark.parametrize("no_date", ["0001-01-01T00:00:00", "0000-00-00T00:00:00+00:00"])
def test_a_text_for_no_date_names_no_zone(no_date: str) -> None:
    rows = [{"created_on": no_date}, {"created_on": "2026-01-31T15:00:00+01:00"}]
    rows += [{"created_on": "2026-07-31T15:00:00+02:00"}]
    assert datetime_zone(rows, NOON, "Europe/Paris").value == ["offset"]
    assert offsets(rows, "Europe/Paris").value == ["+01:00", "+02:00"]


def test_undocumented_fields_are_those_of_no_record() -> None:
    rows = [{"id": 1, "x_new": 2}, {"id": 2, "first name": 3}]
    assert undocumented("list_contacts", rows, ContactItem).value == ["x_new"]
    assert not undocumented("list_contacts", [], ContactItem).known


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["B", "A", "A", None, "a personal text"], ["A", "B"]),
        ([f"C{i}" for i in range(MAX_CODES + 1)], None),
        ([None], None),
    ],
)
def test_codes_are_short_names_of_few_values(values: list[Any], found: list[str] | None) -> None:
    assert codes("contact", "origin", [{"origin": each} for each in values]).value == found
