"""Which employees a list without `filter` shows (interface, "GET /v1/HR/employees")."""

from collections.abc import Mapping, Sequence
from typing import Final

from bms_flows.contract.asking import Asker
from bms_flows.contract.finding import Finding, cannot_tell

NAME: Final = "default_filter"
FILTERS: Final = ("ACTIVE", "STANDBY", "FORMER", "ALL")


async def ask_default_filter(asker: Asker, entities: Sequence[int]) -> Finding:
    """Ask each entity for its employees with every filter and without, until one tells."""
    found = cannot_tell(NAME, "no entity has employees.")
    for entity in entities:

        async def listed(given: str | None, id_entity: int = entity) -> frozenset[object] | None:
            query: dict[str, str | int | bool] = {"id_entity": id_entity}
            reply = await asker.get("list_employees", query | ({"filter": given} if given else {}))
            return frozenset(row.get("guid_employee") for row in reply.rows()) if reply.ok else None

        before = await listed(None)
        by_filter = {name: await listed(name) for name in FILTERS}
        found = default_filter(before, await listed(None), by_filter)
        if found.known:
            break
    return found


def default_filter(
    before: frozenset[object] | None,
    after: frozenset[object] | None,
    by_filter: Mapping[str, frozenset[object] | None],
) -> Finding:
    """Judge which filter brings the same employees as none, asked before and after the others."""
    if before is None or any(rows is None for rows in by_filter.values()):
        return cannot_tell(NAME, "a list of employees is refused.")
    if before != after:
        return cannot_tell(NAME, "employees came or went while they were listed.")
    same = [name for name, rows in by_filter.items() if rows == before]
    if not before or len(same) != 1:
        why = f"{len(same)} of the four filters bring the same {len(before)} employees as none."
        return cannot_tell(NAME, why)
    return Finding(
        name=NAME, value=same[0], told=f"A list without filter is that of filter={same[0]}."
    )
