"""What the lists of a run bring is kept as it came, but for what is private."""

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

from bms.decoding import RecordReader
from bms.endpoints import BY_NAME
from bms.records import EmployeeItem
from bms.responses import Page
from bms_flows.mirror.diff import Intake
from bms_flows.mirror.employees import EMPLOYEES
from bms_flows.mirror.resource import Source
from bms_flows.mirror.rows import Listed

ENDPOINT = BY_NAME["list_employees"]
CANARY = "2 94 05 01 053 777 42"


class Kept(list[bytes]):
    """Stands in for the files of answers."""

    def keep(self, _: str, body: bytes) -> None:
        self.append(body)


async def unasked(*_: Any) -> Any:
    """Stand in for the service: the page is there already."""
    raise AssertionError("nothing is asked")


async def test_a_private_field_that_a_list_shows_unasked_is_kept_nowhere() -> None:
    """The interface has it in the detail alone; a service may say more than its interface."""
    row = {"guid_employee": "a", "last_name": "Dupré", "social_security_number": CANARY, "new": 1}
    body = json.dumps([row]).encode()
    read = RecordReader(ENDPOINT, EmployeeItem).rows(body)
    page: Page[Any] = Page(
        endpoint=ENDPOINT,
        records=read.records,
        rejected=read.rejected,
        extra=read.extra,
        body=body,
        number=1,
        size=100,
        total_pages=1,
    )
    assert page.extra[0]["social_security_number"] == CANARY
    kept, staged = Kept(), list[Listed]()

    async def stage(items: Sequence[Listed]) -> None:
        staged.extend(items)

    intake = Intake(
        EMPLOYEES,
        Source(rows=unasked, detail=unasked, constants={"_entity": 1}),
        known={},
        flags={name: lambda _: False for name in EMPLOYEES.flags},
        details=False,
        turns=(),
        day=date(2026, 3, 31),
        answers=kept,  # type: ignore[arg-type]  # files of answers, as much of them as is asked
        stage=stage,
    )
    await intake.take(page)
    await intake.end()
    [answer] = kept
    del row["social_security_number"]
    assert json.loads(answer) == [row]
    assert [item.extra for item in staged] == [{"new": 1}]
