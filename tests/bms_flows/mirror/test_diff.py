"""Stored responses of lists contain no private fields."""

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

from bms.decoding import RecordReader
from bms.endpoints import BY_NAME
from bms.records import EmployeeItem
from bms_flows.mirror.diff import ListDiff
from bms_flows.mirror.resource import MirrorSource
from bms_flows.mirror.resources import EMPLOYEES
from bms_flows.mirror.rows import ListItem

ENDPOINT = BY_NAME["list_employees"]
CANARY = "2 94 05 01 053 777 42"


class Kept(list[bytes]):
    """In-memory replacement of response files."""

    async def append(self, _: str, body: bytes) -> None:  # type: ignore[override]
        super().append(body)


async def unasked(*_: Any, **__: Any) -> Any:
    """Fail: the test needs no request."""
    raise AssertionError("nothing is asked")


async def test_an_unexpected_private_field_of_a_list_is_not_stored() -> None:
    """The interface includes the field only in details; a service may return more than its interface."""
    row = {"guid_employee": "a", "last_name": "Dupré", "social_security_number": CANARY, "new": 1}
    body = json.dumps([row]).encode()
    page = RecordReader(ENDPOINT, EmployeeItem).rows(body).as_page(1, 100)
    assert page.extra[0]["social_security_number"] == CANARY
    kept, staged = Kept(), list[ListItem]()

    async def stage(items: Sequence[ListItem]) -> None:
        staged.extend(items)

    diff = ListDiff(
        EMPLOYEES,
        MirrorSource(rows=unasked, detail=unasked, id_entity=1),
        known={},
        flags={name: lambda _: False for name in EMPLOYEES.flags},
        details=False,
        rotation=(),
        day=date(2026, 3, 31),
        responses=kept,  # type: ignore[arg-type]  # files of answers, as much of them as is asked
        stage=stage,
    )
    await diff.add(page)
    await diff.flush()
    [answer] = kept
    del row["social_security_number"]
    assert json.loads(answer) == [row]
    assert [item.extra for item in staged] == [{"new": 1}]
