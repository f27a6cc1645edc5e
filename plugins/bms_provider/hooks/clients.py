"""Client for tasks: Airflow never retries a task whose creation has an ambiguous outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from airflow.sdk.exceptions import AirflowFailException, AirflowTaskTimeout

from bms.client import Client
from bms.errors import AmbiguousWrite

if TYPE_CHECKING:
    from bms.endpoints import Endpoint


class AmbiguousCreate(AmbiguousWrite, AirflowFailException):
    """An `AmbiguousWrite` that fails the task for good, however many retries the task has."""


class TaskClient(Client):
    """A `Client` that raises `AmbiguousCreate` where a record may have been created."""

    ambiguous: ClassVar[type[AmbiguousWrite]] = AmbiguousCreate

    def interrupted(self, endpoint: Endpoint, error: BaseException) -> BaseException:
        """Return an `AmbiguousCreate` for the task's timeout, which Airflow would retry."""
        if isinstance(error, AirflowTaskTimeout):
            return AmbiguousCreate(endpoint, "the task timed out")
        return error
