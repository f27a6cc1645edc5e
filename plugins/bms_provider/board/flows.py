"""Flows on the board, in display order."""

from bms_flows import catalog

FLOWS = {name: flow for name, flow in catalog.FLOWS.items() if flow.on_board}

TASKS = {"decide": "plan", "enter": None}
"""Task of each step with another name; None for `enter`, which two tasks can record."""


def task_of(step: str) -> tuple[str | None, int | None]:
    """Return the task id and the map index of a step; None for what the step's name does not determine."""
    name, _, index = step.rpartition("_")
    if name == "create" and index.isdecimal():
        return name, int(index)
    return TASKS.get(step, step), None
