"""A step run records its outcome once."""

from pathlib import Path

import pytest
from sqlalchemy import Engine
from upath import UPath

from bms_flows.runtime import step_log
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from tests.support.sql import scalar


@pytest.mark.parametrize("committed", [None, "complete", "suspect"])
def test_an_error_makes_a_step_failed_unless_its_end_was_committed(
    warehouse: Engine, tmp_path: Path, committed: str | None
) -> None:
    flow = FlowContext(warehouse, UPath(tmp_path), FlowSettings())

    def work() -> None:
        with recorded_step(flow, Step("f", "r", "s")) as step_run_id:
            if committed:
                with warehouse.begin() as connection:
                    step_log.finish(connection, step_run_id, state=committed)
            raise OSError("later")

    with pytest.raises(OSError, match="later"):
        work()
    state = scalar(warehouse, "select state from bms.step_run")
    assert state == (committed or "failed")
