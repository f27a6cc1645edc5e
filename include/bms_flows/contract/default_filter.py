"""Default of the employee list's `filter` (interface, "GET /v1/HR/employees")."""

from collections.abc import Mapping, Sequence
from typing import Final

from bms.client import Client
from bms_flows.contract.finding import ContractFinding, Question
from bms_flows.contract.replies import ask

DEFAULT_FILTER: Final = Question("default_filter")
FILTERS: Final = ("ACTIVE", "STANDBY", "FORMER", "ALL")

Keys = frozenset[object]


async def probe_default_filter(client: Client, entities: Sequence[int]) -> ContractFinding:
    """Compare each entity's employees without filter and with every filter, until one decides."""
    finding = DEFAULT_FILTER.undetermined("no entity has employees.")
    for entity in entities:

        async def keys(given: str | None, id_entity: int = entity) -> Keys | None:
            query: dict[str, str | int | bool] = {"id_entity": id_entity}
            reply = await ask(
                client, "list_employees", query | ({"filter": given} if given else {})
            )
            return frozenset(row.get("guid_employee") for row in reply.rows()) if reply.ok else None

        before = await keys(None)
        by_filter = {name: await keys(name) for name in FILTERS}
        finding = default_filter(before, await keys(None), by_filter)
        if finding.known:
            break
    return finding


def default_filter(
    before: Keys | None, after: Keys | None, by_filter: Mapping[str, Keys | None]
) -> ContractFinding:
    """Return the filter that lists the same employees as no filter, read before and after."""
    if before is None or any(keys is None for keys in by_filter.values()):
        return DEFAULT_FILTER.undetermined("the service refuses a list of employees.")
    if before != after:
        return DEFAULT_FILTER.undetermined("the employees changed during the probe.")
    same = [name for name, keys in by_filter.items() if keys == before]
    if not before or len(same) != 1:
        why = f"{len(same)} of the four filters list the same {len(before)} employees as no filter."
        return DEFAULT_FILTER.undetermined(why)
    summary = f"A list without filter contains the same employees as filter={same[0]}."
    return DEFAULT_FILTER.answered(same[0], summary)
