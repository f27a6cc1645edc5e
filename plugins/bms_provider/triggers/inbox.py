"""Trigger that announces files in the inboxes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent


class InboxTrigger(BaseEventTrigger):
    """Fire an event when files arrive in an inbox; repeat it at growing intervals while they stay.

    Each event starts a run of `inbox_dispatch`. Repeated events, and events for unfinished files, are
    harmless: the DAG claims only settled files, and each file once.

    :param inboxes: names of the folders under ``inbox/``.
    :param data_root: the data root, ``BMS_DATA_ROOT`` by default.
    :param every: seconds between two checks.
    """

    def __init__(self, inboxes: list[str], data_root: str = "", every: float = 5.0) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # untyped in Airflow
        self.inboxes = inboxes
        self.data_root = data_root
        self.every = every

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class path and the arguments, from which Airflow recreates the trigger."""
        return (
            "bms_provider.triggers.inbox.InboxTrigger",
            {"inboxes": self.inboxes, "data_root": self.data_root, "every": self.every},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Check the inboxes until the triggerer stops the trigger."""
        from bms_flows.onboarding.inbox.announcements import Announcements  # noqa: PLC0415 - only the triggerer needs it

        schedule, clock = Announcements(), asyncio.get_running_loop().time
        while True:
            files = await asyncio.to_thread(self._files)
            if schedule.due(files, clock()):
                # File names may be personal data, so the event holds only their number.
                yield TriggerEvent({"files": len(files)})  # type: ignore[no-untyped-call]
            await asyncio.sleep(self.every)

    def _files(self) -> dict[str, str]:
        from bms_flows.onboarding.inbox import discovery  # noqa: PLC0415 - only the triggerer needs it
        from bms_provider import flow_context  # noqa: PLC0415

        root = flow_context.data_root(self.data_root)
        found: dict[str, str] = {}
        for name in self.inboxes:
            with suppress(OSError):  # the freshness check opens the alarm of an unusable inbox
                files = discovery.list_files(root / "inbox" / name)
                found |= {f"{name}/{seen.path}": seen.stamp for seen in files.values()}
        return found
