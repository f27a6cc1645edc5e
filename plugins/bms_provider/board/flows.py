"""The flows that the board shows, in the order in which it shows them."""

from __future__ import annotations

from bms_flows import catalog

FLOWS = {name: flow for name, flow in catalog.FLOWS.items() if flow.on_board}

TASKS = {"decide": "plan", "enter": None}
"""Tasks of steps that aren't named after them; a task `enter` or `enter_again` may have entered."""


def task_of(step: str) -> tuple[str | None, int | None]:
    """Return the id of the task that did a step, and which of its parts; None what the name doesn't tell."""
    name, _, part = step.rpartition("_")
    if name == "create" and part.isdecimal():
        return name, int(part)
    return TASKS.get(step, step), None
