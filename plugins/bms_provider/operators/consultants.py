"""Operators for consultants (CRM): list, read, create."""

from typing import Any, ClassVar

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


class BmsReadConsultantOperator(BmsReadOperator):
    """Read one consultant (GET /v1/CRM/Consultants/{id_consultant}).

    `BmsReadingOperator` describes the result and the shared parameters.

    :param id_consultant: number of the consultant (templated).
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["read_consultant"]

    def __init__(self, *, id_consultant: int | str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.id_consultant = id_consultant


class BmsCreateConsultantOperator(BmsCreateOperator):
    """Create a consultant (POST /v1/CRM/Consultants) at most once.

    `BmsCreateOperator` describes the parameters and what a failure means.

    :return: to XCom: ``id``.
    """

    endpoint: ClassVar[Endpoint] = BY_NAME["create_consultant"]
