"""Client for tasks: Airflow never retries a task whose creation has an ambiguous outcome."""

from __future__ import annotations

from typing import ClassVar

from airflow.sdk.exceptions import AirflowFailException

from bms.client import Client
from bms.errors import AmbiguousWrite


class AmbiguousCreate(AmbiguousWrite, AirflowFailException):
    """An `AmbiguousWrite` that fails the task for good, however many retries the task has."""


class TaskClient(Client):
    """A `Client` that raises `AmbiguousCreate` where a record may have been created."""

    ambiguous: ClassVar[type[AmbiguousWrite]] = AmbiguousCreate
