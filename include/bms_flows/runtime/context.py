"""Flow context: warehouse, data root and settings; and the recording of a step run."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine
from upath import UPath

from bms.counters import Counters
from bms_flows.runtime import step_log
from bms_flows.runtime.settings import FlowSettings


@dataclass(frozen=True)
class FlowContext:
    """Warehouse, data root and settings of a flow."""

    warehouse: Engine
    data_root: UPath
    settings: FlowSettings

    def path(self, name: str) -> UPath:
        """Return the path of a file or folder that is named relative to the data root."""
        return self.data_root / name

    def name(self, path: UPath) -> str:
        """Return a path relative to the data root; the inverse of `path`."""
        return path.path.removeprefix(self.data_root.path).lstrip("/")


@contextmanager
def recorded_step(
    flow: FlowContext, step: step_log.Step, counters: Counters | None = None
) -> Iterator[int]:
    """Record `step` in `bms.step_run` for the block; an error marks the step run as failed."""
    if not gc.get_freeze_count():
        gc.freeze()  # no collection of garbage walks what was imported: 5 to 14 % of a load's CPU time
    step_run_id = step_log.begin(flow.warehouse, step)
    try:
        yield step_run_id
    except BaseException as error:
        # Only the error's type is stored: its text might quote a row.
        reason = f"{type(error).__name__}; see the task's log for details."
        with flow.warehouse.begin() as connection:
            step_log.fail(connection, step_run_id, service=counters, reason=reason)
        raise
