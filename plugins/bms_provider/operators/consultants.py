"""Operators for consultants (CRM): list, read, create."""

from typing import ClassVar

from bms.endpoints import BY_NAME, Endpoint
from bms_provider.operators.base import BmsPagesOperator, BmsReadOperator
from bms_provider.operators.creation import BmsCreateOperator


class BmsListConsultantsOperator(BmsPagesOperator):
    """Read all pages of the consultants (GET /v1/CRM/Consultants).

    `BmsReadingOperator` describes the result and the shared parameters.

    :param id_client: only the consultants of this client (templated).
    :param type: only the consultants of this type (templated); the interface does not show the types.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["list_consultants"]
    id_client: int | str | None = None
    type: str | None = None


class BmsReadConsultantOperator(BmsReadOperator):
    """Read one consultant (GET /v1/CRM/Consultants/{id_consultant}).

    `BmsReadingOperator` describes the result and the shared parameters.

    :param id_consultant: number of the consultant (templated).
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["read_consultant"]
    id_consultant: int | str


class BmsCreateConsultantOperator(BmsCreateOperator):
    """Create a consultant (POST /v1/CRM/Consultants) at most once.

    `BmsCreateOperator` describes the parameters and what a failure means.

    :return: to XCom: ``id``.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["create_consultant"]
