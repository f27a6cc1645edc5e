"""Lists of employees that rows are compared with, over HTTP."""

from datetime import UTC, datetime

import msgspec
import pytest

from bms.client import Client
from bms.errors import NotFound
from bms.settings import ClientSettings
from bms_flows.onboarding.resources.remotes import Employees
from bms_sandbox.serve import Sandbox

NOW = datetime(2026, 3, 31, tzinfo=UTC)


async def test_an_entity_that_joins_the_connection_is_read_from_then_on(
    sandbox: Sandbox, client_settings: ClientSettings
) -> None:
    there = sandbox.insert("employees", id_entity=2, payroll_number="700001", last_name="Roux")
    async with Client(client_settings) as client:
        before = await Employees(client, client).read_all([1], NOW)
        found = await Employees(client, client, entities=(1, 2)).refresh(before, [1], NOW)
    assert before.lists.keys() == {"1"}
    assert found.lists.keys() == {"1", "2"}
    assert there["guid_employee"] in {known.remote_id for known in found.new_since(before)}


async def test_an_entity_that_left_the_connection_is_read_for_its_own_rows_only(
    sandbox: Sandbox, client_settings: ClientSettings
) -> None:
    """Otherwise rows of the other entities could never be sent once the service has the entity no more."""
    sandbox.set_dialect(unknown_entity="not_found")
    async with Client(client_settings) as client:
        employees = Employees(client, client, entities=(1,))
        before = await employees.read_all([2], NOW)
        left = msgspec.structs.replace(before, lists={**before.lists, "99": before.lists["2"]})
        found = await employees.refresh(left, [1], NOW)
        with pytest.raises(NotFound):
            await employees.refresh(left, [99], NOW)
    assert found.lists.keys() == {"1", "2", "99"}
    assert found.lists["99"] == before.lists["2"]
