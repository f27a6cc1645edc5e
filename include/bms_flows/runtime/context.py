"""What the flows work with, and the record that each step leaves."""

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
    """The warehouse, the data root, the flows' settings."""

    warehouse: Engine
    data_root: UPath
    settings: FlowSettings

    def path(self, kept: str) -> UPath:
        """Return a file or folder below the data root by its name there."""
        return self.data_root / kept

    def name(self, path: UPath) -> str:
        """Return the name of a file or folder below the data root; `path` reads it."""
        return path.path.removeprefix(self.data_root.path).lstrip("/")


@contextmanager
def recorded_step(
    flow: FlowContext, step: step_log.Step, counters: Counters | None = None
) -> Iterator[int]:
    """Enter `step` in `bms.step_run` for the block; one that ends by an error is recorded as failed."""
    step_run_id = step_log.begin(flow.warehouse, step)
    try:
        yield step_run_id
    except BaseException as error:
        # Only the kind of error goes on record: a text from below might quote a row.
        reason = f"{type(error).__name__}; the task's log has the whole of it."
        with flow.warehouse.begin() as connection:
            step_log.fail(connection, step_run_id, service=counters, reason=reason)
        raise
