"""Operators for contacts (CRM): list, read, create."""

from typing import Any, ClassVar

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


class BmsReadContactOperator(BmsReadOperator):
    """Read one contact (GET /v1/CRM/contacts/{id_contact}).

    `BmsReadingOperator` describes the result and the shared parameters.

    :param id_contact: number of the contact (templated).
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["read_contact"]

    def __init__(self, *, id_contact: int | str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.id_contact = id_contact


class BmsCreateContactOperator(BmsCreateOperator):
    """Create a contact (POST /v1/CRM/contacts) at most once.

    `BmsCreateOperator` describes the parameters and what a failure means.

    :return: to XCom: ``id``.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["create_contact"]
