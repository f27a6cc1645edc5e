"""The ledger beside a CRM larger than one statement has parameters for."""

from sqlalchemy import Engine

from bms_flows.creation import matches
from bms_flows.creation.ledger import PostgresLedger
from bms_flows.drops import claim
from bms_flows.drops.inbox import Seen

MANY = [str(number) for number in range(70_000)]


async def test_more_keys_and_ids_than_parameters_are_asked_for_at_once(warehouse: Engine) -> None:
    ledger = PostgresLedger(warehouse, "contact")
    assert await ledger.by_key(MANY) == {}
    assert await ledger.owners(MANY) == {}
    drop = claim.enter(warehouse, "contact", Seen("a.csv", 1, "1")).id
    with warehouse.begin() as connection:
        matches.keep(connection, "contact", drop, {"7": "42"})
        matches.keep(connection, "contact", drop, {"7": "43", "8": "43"})
    assert matches.of(warehouse, "contact", MANY) == {"7": "42", "8": "43"}
