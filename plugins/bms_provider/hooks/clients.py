"""Client for tasks: Airflow never retries a task whose creation has an ambiguous outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from bms.client import Client
from bms.endpoints import BY_NAME
from bms.errors import AmbiguousWrite
from bms.records import CreatedEmployee
from bms.responses import CreatedId
from bms.transport import BeforeSend


class AmbiguousCreate(AmbiguousWrite, AirflowFailException):
    """An `AmbiguousWrite` that fails the task for good, however many retries the task has."""


class TaskClient(Client):
    """A `Client` whose `create_...` raise `AmbiguousCreate` where the record may exist."""

    async def create_employee(
        self, body: Mapping[str, Any], *, before_send: BeforeSend | None = None
    ) -> CreatedEmployee:
        """Create an employee (POST /v1/HR/employees)."""
        with _fail_for_good():
            return await super().create_employee(body, before_send=before_send)

    async def create_contact(
        self, body: Mapping[str, Any], *, before_send: BeforeSend | None = None
    ) -> CreatedId:
        """Create a contact (POST /v1/CRM/contacts)."""
        with _fail_for_good():
            return await super().create_contact(body, before_send=before_send)

    async def create_consultant(
        self, body: Mapping[str, Any], *, before_send: BeforeSend | None = None
    ) -> CreatedId:
        """Create a consultant (POST /v1/CRM/Consultants)."""
        with _fail_for_good():
            return await super().create_consultant(body, before_send=before_send)


@contextmanager
def _fail_for_good() -> Iterator[None]:
    """Raise `AmbiguousCreate` in place of `AmbiguousWrite`."""
    try:
        yield
    except AmbiguousWrite as error:
        failure = AmbiguousCreate(BY_NAME[error.endpoint], error.reason, status=error.status)
        failure.tries, failure.elapsed = error.tries, error.elapsed
    else:
        return
    raise failure
