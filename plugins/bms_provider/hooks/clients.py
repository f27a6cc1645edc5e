"""Client for tasks: Airflow never retries a task whose creation has an ambiguous outcome."""

from typing import ClassVar

from airflow.sdk.exceptions import AirflowFailException, AirflowTaskTimeout

from bms.client import Client
from bms.endpoints import Endpoint
from bms.errors import AmbiguousWrite


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
