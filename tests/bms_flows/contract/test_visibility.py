"""Order of new records and of their `created_on`, observed by two loads of a mirror."""

import pytest
from sqlalchemy import Engine

from bms_flows.contract.visibility import ORDER, created_on_order
from bms_sandbox.serve import Sandbox
from tests.bms_flows.mirror.environment import Mirror

IN_ORDER = [f"2031-05-04T10:{minute}:00+00:00" for minute in range(10, 20)]
LATE = "2031-05-04T09:00:00+00:00"
IMPORTED = "2001-05-04T09:00:00+00:00"


@pytest.mark.parametrize(
    ("created", "value", "advice"),
    [
        (IN_ORDER, "agrees", None),
        ([*IN_ORDER, LATE], "differs", "Set BMS_SETTLE_S to 3600: a lost response"),
        ([*IN_ORDER, IMPORTED], "agrees", None),
        (IN_ORDER[:2], None, None),
    ],
    ids=["in order", "late", "imported", "few"],
)
def test_the_probe_observes_whether_records_appear_in_the_order_of_created_on(
    created: list[str],
    value: str | None,
    advice: str | None,
    warehouse: Engine,
    sandbox: Sandbox,
    mirror: Mirror,
) -> None:
    sandbox.insert("contacts", last_name="Dupré", created_on="2031-05-04T10:00:00+00:00")
    mirror.run(page_size=100)
    for number, text in enumerate(created):
        sandbox.insert("contacts", last_name=f"Martin{number}", created_on=text)
    mirror.run(page_size=100)
    with warehouse.connect() as connection:
        found = created_on_order(connection)
    assert (found.name, found.value) == (ORDER.name, value)
    assert (found.advice or "").startswith(advice or "")
    assert bool(found.advice) == bool(advice)
