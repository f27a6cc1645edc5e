"""Description of mirrored consultants: interface, "Consultant list item" and "Consultant detail"."""

from bms.client import Client
from bms.records import Consultant, ConsultantItem
from bms.responses import Page
from bms_flows.mirror.resource import MirroredResource, MirrorSource
from bms_warehouse.tables import consultant, consultant_version

CONSULTANTS = MirroredResource(
    table=consultant,
    versions=consultant_version,
    item=ConsultantItem,
    detail=Consultant,
)


def consultants(
    client: Client,
    *,
    type: str | None = None,  # noqa: A002 - the interface's own name
    id_client: int | None = None,
) -> MirrorSource:
    """Return the source of consultants; a restricted run leaves all others unchanged."""

    async def rows(number: int, size: int) -> Page[ConsultantItem]:
        return await client.list_consultants(
            page_number=number, page_size=size, id_client=id_client, type=type
        )

    return MirrorSource(
        rows=rows,
        detail=client.read_consultant,
        page_size=client.settings.page_size,
        whole=type is None and id_client is None,
    )
