"""The watch over the inboxes: it announces that something lies there, and does nothing else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class InboxTrigger(BaseEventTrigger):
    """Announce when files are in an inbox: at once when they are new, then ever more rarely.

    Each announcement starts a run of the dispatching DAG. An announcement that comes twice, or for
    a file that is being written, does no harm: the DAG takes what is settled, and takes each file
    once.

    :param data_root: the data root, ``BMS_DATA_ROOT`` by default.
    :param inboxes: names of the folders under ``inbox/``.
    :param every: seconds between two looks.
    """

    def __init__(self, inboxes: list[str], data_root: str = "", every: float = 5.0) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's own is untyped
        self.inboxes = inboxes
        self.data_root = data_root
        self.every = every

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return how Airflow makes this trigger again."""
        return (
            "bms_provider.triggers.inbox.InboxTrigger",
            {"inboxes": self.inboxes, "data_root": self.data_root, "every": self.every},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look, announce, wait, for as long as the triggerer lets it."""
        from bms_flows.onboarding.inbox.announcements import Announcements  # noqa: PLC0415 - only the triggerer needs it

        schedule, clock = Announcements(), asyncio.get_running_loop().time
        while True:
            lying = await asyncio.to_thread(self._lying)
            if schedule.due(lying, clock()):
                # Names of files may be names of people: only how many goes into the event.
                yield TriggerEvent({"files": len(lying)})  # type: ignore[no-untyped-call]
            await asyncio.sleep(self.every)

    def _lying(self) -> dict[str, str]:
        from bms_flows.onboarding.inbox import discovery  # noqa: PLC0415 - only the triggerer needs it
        from bms_provider import flow_context  # noqa: PLC0415

        root = flow_context.data_root(self.data_root)
        folders = [root / "inbox" / name for name in self.inboxes]
        return {
            f"{folder.name}/{seen.path}": seen.stamp
            for folder in folders
            if folder.exists()
            for seen in discovery.look(folder).values()
        }
