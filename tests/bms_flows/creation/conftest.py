"""Drops for the engine, on a real sandbox and a real warehouse."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine

from bms.settings import Settings as ClientSettings
from bms_flows.drops import claim
from bms_flows.drops.inbox import Seen
from tests.bms_flows.creation.onboarding import Run

Drop = Callable[..., Run]


@pytest.fixture
def drop(
    warehouse: Engine, warehouse_uri: str, client_settings: ClientSettings, tmp_path: Path
) -> Drop:
    """Enter a file as a drop: `drop(content)` returns the run that works on it."""
    numbers = itertools.count(1)

    def entered(content: bytes, resource: str = "employee", **client: object) -> Run:
        seen = Seen(f"drop{next(numbers)}.csv", len(content), "1")
        number = claim.enter(warehouse, resource, seen).id
        service = replace(client_settings, **client)  # type: ignore[arg-type]  # fields of the settings
        kept = tmp_path / f"kept-{number}.json"
        return Run(warehouse_uri, service, number, content, resource=resource, kept=str(kept))

    return entered


def csv(*rows: str) -> bytes:
    """A file of employees: payroll number, last name, first name, start, manager's payroll number."""
    head = "id_entity;payroll_number;last_name;first_name;start_date;manager_payroll_number"
    return "\n".join([head, *(f"1;{row}" for row in rows), ""]).encode()
