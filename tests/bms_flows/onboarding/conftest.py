"""Drops for the engine, on a real sandbox and a real warehouse."""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine
from upath import UPath

from bms.settings import ClientSettings
from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile
from proofs.simulation.clock import VirtualLoop
from tests.bms_flows.onboarding.onboarding import Run

Drop = Callable[..., Run]
Loops = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]


def pytest_asyncio_loop_factories(item: pytest.Item) -> Loops:
    """Run async tests marked `virtual_time` on a loop whose waits take no time."""
    virtual = item.get_closest_marker("virtual_time")
    return {"loop": VirtualLoop if virtual else asyncio.new_event_loop}


@pytest.fixture
def drop(
    warehouse: Engine, warehouse_uri: str, client_settings: ClientSettings, tmp_path: Path
) -> Drop:
    """Enter a file as a drop: `drop(content)` returns the run that works on it."""
    numbers = itertools.count(1)

    def entered(content: bytes, resource: str = "employee", **client: object) -> Run:
        seen = FoundFile(f"drop{next(numbers)}.csv", len(content), "1")
        number = claim.claim_file(warehouse, resource, seen).id
        service = replace(client_settings, **client)  # type: ignore[arg-type]  # fields of the settings
        kept = tmp_path / f"kept-{number}.json"
        return Run(warehouse_uri, service, number, content, resource=resource, kept=str(kept))

    return entered


def csv(*rows: str) -> bytes:
    """A file of employees: payroll number, last name, first name, start, manager's payroll number."""
    head = "id_entity;payroll_number;last_name;first_name;start_date;manager_payroll_number"
    return "\n".join([head, *(f"1;{row}" for row in rows), ""]).encode()


@pytest.fixture
def inbox(root: UPath) -> UPath:
    """An empty inbox in it."""
    found = root / "inbox" / "employees"
    found.mkdir(parents=True, exist_ok=True)
    return found
