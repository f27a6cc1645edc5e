"""Operators for contacts (CRM): list, read, create."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bms.endpoints import BY_NAME, Endpoint
from bms_provider.operators.arguments import argument
from bms_provider.operators.base import BmsPagesOperator, BmsReadOperator
from bms_provider.operators.creation import BmsCreateOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bms.client import Client
    from bms.records import Contact
    from bms.responses import CreatedId, Detail


class BmsListContactsOperator(BmsPagesOperator):
    """Read all pages of the contacts (GET /v1/CRM/contacts).

    `BmsReadingOperator` describes the parameters that all reading operators share.

    :param filter: ``ALL``, ``ACTIVE``, ``ASSIGNED`` or ``DELETED`` (templated).
    :param id_client: only the contacts of this client (templated).
    :param is_lead: true for leads only, false for other contacts only (templated).
    :return: to XCom: the manifest of the file, or the selected fields of each contact.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["list_contacts"]
    template_fields: Sequence[str] = (
        *BmsPagesOperator.template_fields,
        "filter",
        "id_client",
        "is_lead",
    )

    def __init__(
        self,
        *,
        filter: str,  # noqa: A002 - the interface's own name
        id_client: int | str | None = None,
        is_lead: bool | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.filter = filter
        self.id_client = id_client
        self.is_lead = is_lead

    def query(self) -> dict[str, Any]:
        """Return the filter and the restrictions."""
        from bms.client import ContactFilter  # noqa: PLC0415 - with the task, not at import

        return {
            "filter": argument("filter", self.filter, ContactFilter),
            "id_client": argument("id_client", self.id_client, int | None),
            "is_lead": argument("is_lead", self.is_lead, bool | None),
        }


class BmsReadContactOperator(BmsReadOperator):
    """Read one contact (GET /v1/CRM/contacts/{id_contact}).

    `BmsReadingOperator` describes the parameters that all reading operators share.

    :param id_contact: number of the contact (templated).
    :return: to XCom: the manifest of the file, or the selected fields.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["read_contact"]
    template_fields: Sequence[str] = (*BmsReadOperator.template_fields, "id_contact")

    def __init__(self, *, id_contact: int | str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.id_contact = id_contact

    async def read(self, client: Client) -> Detail[Contact]:
        """Return the contact."""
        return await client.read_contact(argument("id_contact", self.id_contact, int))


class BmsCreateContactOperator(BmsCreateOperator):
    """Create a contact (POST /v1/CRM/contacts) at most once.

    `BmsCreateOperator` describes the parameters and what a failure means.

    :return: to XCom: ``id``.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["create_contact"]

    async def create(self, client: Client, body: Mapping[str, Any]) -> CreatedId:
        """Create the contact."""
        return await client.create_contact(body)
