"""Lists of employees that rows are compared with, over HTTP."""

from datetime import UTC, datetime

from bms.client import Client
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
        found = await Employees(client, client, entities=(1, 2)).refresh(before, NOW)
    assert before.lists.keys() == {"1"}
    assert found.lists.keys() == {"1", "2"}
    assert there["guid_employee"] in {known.remote_id for known in found.new_since(before)}
