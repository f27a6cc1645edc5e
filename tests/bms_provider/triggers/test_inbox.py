"""The inbox trigger, on real folders."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bms_provider.triggers.inbox import InboxTrigger


async def test_a_file_fires_one_event_and_a_new_file_another_event(tmp_path: Path) -> None:
    folder = tmp_path / "inbox" / "employees"
    folder.mkdir(parents=True)
    (folder / "_LISEZMOI.txt").touch()
    (folder / "Dupré.csv").write_bytes(b"Nom\nA")
    (tmp_path / "inbox" / "consultants").write_bytes(b"no folder")  # does not stop the others
    trigger = InboxTrigger(
        ["consultants", "employees", "contacts"], f"file://{tmp_path}", every=0.01
    )
    events: Any = trigger.run()
    first = await anext(events)
    assert first.payload == {"files": 1}
    waits = asyncio.ensure_future(anext(events))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waits), 0.3)
    (folder / "b.csv").write_bytes(b"Nom\nA\n")
    assert (await waits).payload == {"files": 2}
    await events.aclose()
