"""Requests in advance: all permitted ones for a slow service, few for a slow loader."""

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest

from bms.client import Client
from bms.settings import ClientSettings
from bms_flows.invoices import fetch as fetching
from bms_flows.invoices.decode import ResponseReader
from bms_flows.invoices.fetch import Fetcher
from bms_flows.runtime.windows import Window
from bms_sandbox.serve import Sandbox

DAYS = Window(date(2026, 2, 1), date(2026, 3, 12)).cut(1)


async def windows_fetched(settings: ClientSettings, *, loader_waits: float) -> list[Window]:
    """Return the fetched windows; the loader takes `loader_waits` seconds for each response."""
    found, reader = [], ResponseReader()
    async with Client(settings) as client:
        with ThreadPoolExecutor(1) as thread:
            fetcher = Fetcher(
                client, 1, deque(DAYS), "FR", thread, lambda _, body: reader.read(body)
            )
            async for window, _ in fetcher.responses():
                found.append(window)
                await asyncio.sleep(loader_waits)
    return found


def test_a_slow_service_gets_all_permitted_requests(
    sandbox: Sandbox, client_settings: ClientSettings
) -> None:
    sandbox.set_latency(0.2)
    assert asyncio.run(windows_fetched(client_settings, loader_waits=0)) == DAYS
    assert sandbox.truth()["in_flight_max"] == 8


def test_a_slow_loader_stops_requests(
    sandbox: Sandbox, client_settings: ClientSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MAX_WAITING_BYTES", 1)
    assert asyncio.run(windows_fetched(client_settings, loader_waits=0.01)) == DAYS
    assert sandbox.truth()["in_flight_max"] <= 2
