"""Operators for consultants (CRM): list, read, create."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bms.endpoints import BY_NAME, Endpoint
from bms_provider.operators.arguments import argument
from bms_provider.operators.base import BmsPagesOperator, BmsReadOperator
from bms_provider.operators.creation import BmsCreateOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bms.client import Client
    from bms.records import Consultant
    from bms.responses import CreatedId, Detail


class BmsListConsultantsOperator(BmsPagesOperator):
    """Read all pages of the consultants (GET /v1/CRM/Consultants).

    `BmsReadingOperator` describes the parameters that all reading operators share.

    :param id_client: only the consultants of this client (templated).
    :param type: only the consultants of this type (templated); the interface does not show the types.
    :return: to XCom: the manifest of the file, or the selected fields of each consultant.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["list_consultants"]
    template_fields: Sequence[str] = (
        *BmsPagesOperator.template_fields,
        "id_client",
        "type",
    )

    def __init__(
        self,
        *,
        id_client: int | str | None = None,
        type: str | None = None,  # noqa: A002 - the interface's own name
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.id_client = id_client
        self.type = type

    def query(self) -> dict[str, Any]:
        """Return the restrictions."""
        return {
            "id_client": argument("id_client", self.id_client, int | None),
            "type": argument("type", self.type, str | None),
        }


class BmsReadConsultantOperator(BmsReadOperator):
    """Read one consultant (GET /v1/CRM/Consultants/{id_consultant}).

    `BmsReadingOperator` describes the parameters that all reading operators share.

    :param id_consultant: number of the consultant (templated).
    :return: to XCom: the manifest of the file, or the selected fields.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["read_consultant"]
    template_fields: Sequence[str] = (*BmsReadOperator.template_fields, "id_consultant")

    def __init__(self, *, id_consultant: int | str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.id_consultant = id_consultant

    async def read(self, client: Client) -> Detail[Consultant]:
        """Return the consultant."""
        return await client.read_consultant(argument("id_consultant", self.id_consultant, int))


class BmsCreateConsultantOperator(BmsCreateOperator):
    """Create a consultant (POST /v1/CRM/Consultants) at most once.

    `BmsCreateOperator` describes the parameters and what a failure means.

    :return: to XCom: ``id``.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["create_consultant"]

    async def create(self, client: Client, body: Mapping[str, Any]) -> CreatedId:
        """Create the consultant."""
        return await client.create_consultant(body)
