"""Description of mirrored contacts: interface, "Contact list item" and "Contact detail"."""

from bms.client import Client, ContactFilter
from bms.records import Contact, ContactItem
from bms_flows.mirror.resource import MirroredResource, MirrorSource
from bms_flows.runtime.list_reader import FetchPage
from bms_warehouse.tables import contact, contact_version

CONTACTS = MirroredResource(
    table=contact,
    versions=contact_version,
    item=ContactItem,
    detail=Contact,
    aliases={"actif": "active", "active": "active", "contact_domains": "domains"},
    flags=("_assigned",),
)


def contacts(
    client: Client,
    *,
    filter: ContactFilter = "ALL",  # noqa: A002 - the interface's own name
    id_client: int | None = None,
    is_lead: bool | None = None,
) -> MirrorSource:
    """Return the source of contacts; a restricted run leaves all other contacts unchanged."""

    def listed(state: ContactFilter) -> FetchPage:
        return lambda number, size: client.list_contacts(
            filter=state, page_number=number, page_size=size, id_client=id_client, is_lead=is_lead
        )

    implied = {"ASSIGNED": {"_assigned": True}, "DELETED": {"deleted": True}}
    everything = filter == "ALL"
    return MirrorSource(
        rows=listed(filter),
        members={"_assigned": listed("ASSIGNED")} if everything else {},
        deleted=listed("DELETED") if everything else None,
        detail=client.read_contact,
        page_size=client.settings.page_size,
        implied=implied.get(filter, {}),
        whole=everything and id_client is None and is_lead is None,
    )
