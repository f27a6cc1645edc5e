"""Steps recorded in `bms.step_run`."""

import pytest
from sqlalchemy import Engine

from bms_flows.runtime import step_log


def test_a_step_reads_the_details_of_its_latest_complete_run(warehouse: Engine) -> None:
    step = step_log.Step("invoice_extraction", "manual_1", "plan")
    for units in ([1], [2]):
        step_run_id = step_log.begin(warehouse, step)
        with warehouse.begin() as connection:
            step_log.finish(connection, step_run_id, state="complete", details={"units": units})
    step_log.begin(warehouse, step)  # still running
    assert step_log.details(warehouse, step) == {"units": [2]}


def test_a_step_that_a_restored_warehouse_lost_is_named_with_its_remedy(warehouse: Engine) -> None:
    step = step_log.Step("invoice_extraction", "manual_1", "plan")
    with pytest.raises(step_log.StepMissing, match=r"plan of run manual_1.*clear the whole run"):
        step_log.details(warehouse, step)
