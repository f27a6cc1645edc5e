"""Operators for contacts (CRM): list, read, create."""

from typing import ClassVar

from bms.endpoints import BY_NAME, Endpoint
from bms_provider.operators.base import BmsPagesOperator, BmsReadOperator
from bms_provider.operators.creation import BmsCreateOperator


class BmsListContactsOperator(BmsPagesOperator):
    """Read all pages of the contacts (GET /v1/CRM/contacts).

    `BmsReadingOperator` describes the result and the shared parameters.

    :param filter: ``ALL``, ``ACTIVE``, ``ASSIGNED`` or ``DELETED`` (templated).
    :param id_client: only the contacts of this client (templated).
    :param is_lead: true for leads only, false for other contacts only (templated).
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["list_contacts"]
    filter: str
    id_client: int | str | None = None
    is_lead: bool | str | None = None


class BmsReadContactOperator(BmsReadOperator):
    """Read one contact (GET /v1/CRM/contacts/{id_contact}).

    `BmsReadingOperator` describes the result and the shared parameters.

    :param id_contact: number of the contact (templated).
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["read_contact"]
    id_contact: int | str


class BmsCreateContactOperator(BmsCreateOperator):
    """Create a contact (POST /v1/CRM/contacts) at most once.

    `BmsCreateOperator` describes the parameters and what a failure means.

    :return: to XCom: ``id``.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["create_contact"]
