"""Mirrored resources with their tables and records, and the lists from which a run reads them."""

from collections.abc import Collection
from typing import Any, Final

from bms.client import Client
from bms.endpoints import BY_NAME
from bms.responses import FindRows, Page, Rows
from bms_flows.mirror.resource import FetchRows, MirroredResource, MirrorSource
from bms_warehouse.resources import RESOURCES, ResourceDescription
from bms_warehouse.tables import MIRROR_TABLES


def mirrored(described: ResourceDescription) -> MirroredResource:
    """Return a described resource with its tables and records."""
    tables = MIRROR_TABLES[described.name]
    return MirroredResource(
        described=described,
        table=tables.current,
        item=described.item,
        detail=described.detail,
        aliases=described.aliases,
        flags=tuple(flag.name for flag in described.flags),
        constants=tuple(described.constants),
        private_fields=frozenset(name for name, _, _ in described.private_columns),
        private_table=tables.private,
    )


MIRRORED: Final = {each.name: mirrored(each) for each in RESOURCES}
"""Every mirrored resource, by its name."""

CONTACTS: Final = MIRRORED["contact"]
EMPLOYEES: Final = MIRRORED["employee"]


def source(
    client: Client,
    resource: MirroredResource,
    *,
    id_entity: int | None = None,
    entities: Collection[int] = (),
    filter: str | None = None,  # noqa: A002 - the interface's own name
    **restrictions: Any,
) -> MirrorSource:
    """Return the lists and details from which a run reads a resource.

    `filter` is by default the resource's own, which requests every row. `restrictions` are query
    parameters of the list; None restricts nothing. A run with another filter or with a restriction
    leaves all other rows unchanged. `entities` are all that are read today: a row that several of
    their lists contain belongs to the smallest.
    """
    described = resource.described
    endpoint = BY_NAME[described.list_operation]
    restricted = {name: value for name, value in restrictions.items() if value is not None}
    entity = {} if id_entity is None else {"id_entity": id_entity}
    everything = filter is None or filter == described.filter

    def listed(state: str | None) -> FetchRows:
        query = {**entity, **restricted, **({"filter": state} if state else {})}

        async def rows(number: int, size: int, *, find: FindRows | None = None) -> Page[Any]:
            if endpoint.paged:
                return await client.list_page(endpoint.name, number, size, find, **query)
            whole: Rows[Any] = await getattr(client, endpoint.name)(**query)
            return whole.as_page(number, size)

        return rows

    filtered = {flag.name: flag.filter for flag in described.flags}
    deleted = described.deleted_filter
    states = filtered | ({"deleted": deleted} if deleted else {})
    return MirrorSource(
        rows=listed(filter or described.filter),
        members={name: listed(state) for name, state in filtered.items()} if everything else {},
        deleted=listed(deleted) if everything and deleted else None,
        detail=getattr(client, described.read_operation) if described.has_detail else None,
        page_size=client.settings.page_size,
        implied={} if everything else {n: True for n, state in states.items() if state == filter},
        id_entity=id_entity,
        preceding=frozenset(each for each in entities if id_entity and each < id_entity),
        whole=everything and not restricted,
    )
