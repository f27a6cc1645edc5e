"""The watch over the inboxes: it announces that something lies there, and does nothing else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

AGAIN_AFTER = 60.0
"""Seconds after which files that still lie there are announced again."""


class InboxTrigger(BaseEventTrigger):
    """Announce when files lie in an inbox: at once when they are new, then once a minute.

    An announcement that comes twice, or for a file that is being written, does no harm: the
    dispatching DAG takes what is settled, and takes each file once.

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
        announced: frozenset[str] = frozenset()
        since = 0.0
        while True:
            lying = await asyncio.to_thread(self._lying)
            if lying and (not lying <= announced or since >= AGAIN_AFTER):
                announced, since = lying, 0.0
                # Names of files may be names of people: only how many goes into the event.
                yield TriggerEvent({"files": len(lying)})  # type: ignore[no-untyped-call]
            announced &= lying
            await asyncio.sleep(self.every)
            since += self.every

    def _lying(self) -> frozenset[str]:
        from bms_flows.drops import inbox  # noqa: PLC0415 - only the triggerer needs it
        from bms_provider import workplace  # noqa: PLC0415

        root = workplace.data_root(self.data_root)
        folders = [root / "inbox" / name for name in self.inboxes]
        return frozenset(
            f"{folder.name}/{seen.path}/{seen.stamp}"
            for folder in folders
            if folder.exists()
            for seen in inbox.look(folder).values()
        )
