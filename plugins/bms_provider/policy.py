"""What every DAG of the project shares: when a task is tried again, who is told, tags, params, assets."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import AssetAlias, BaseHook, Param, RetryDecision, RetryPolicy
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from bms_provider import pool

if TYPE_CHECKING:
    from airflow.sdk import Connection, Context


def number(variable: str, default: float) -> float:
    """Return a setting that DAG files need when they are parsed; raise `ValueError` that names it."""
    text = os.environ.get(variable) or str(default)
    try:
        given = float(text)
    except ValueError:
        given = -1
    if not 0 < given < float("inf"):
        raise ValueError(f"{variable} holds {text!r}; it takes a number, more than 0")
    return given


TIME_ZONE = os.environ.get("BMS_TIME_ZONE") or "Europe/Paris"
"""The company's days; `bms_flows.runtime.settings` reads the same variable for the tasks."""

TASK_SLOTS = int(number("BMS_TASK_SLOTS", pool.TASK_SLOTS))
"""Requests that one task may have in flight: the slots it takes of the pool."""

SERVICE: dict[str, Any] = {"pool": pool.NAME, "pool_slots": TASK_SLOTS}
"""What `@task` gets where the task asks the service; the others need no slot."""


RETRIES = 3
"""Retries of a task, unless the service can't be reached."""
OUTAGE_RETRIES = 12
"""Retries of a task that creates, during an outage: some five hours."""


class ServiceRetryPolicy(RetryPolicy):
    """Retry what may succeed later, never what can't or what may have happened already.

    The client's typed errors say which is which; a service that names a time to wait gets it.
    `retries` bounds those of all errors but an outage, where the task itself has more.
    """

    def __init__(self, retries: int | None = None) -> None:
        self.retries = retries

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,
        max_tries: int,  # noqa: ARG002 - Airflow's signature
        context: Context | None = None,  # noqa: ARG002
    ) -> RetryDecision:
        """Decide by what the error says; an error that isn't the service's takes Airflow's default."""
        retriable = getattr(exception, "retriable", None)
        kind = type(exception).__name__
        lasting = retriable and getattr(exception, "retry_for_hours", False)
        if self.retries is not None and try_number > self.retries and not lasting:
            return RetryDecision.fail(f"{kind}, tried {try_number} times")
        if retriable is None:
            return RetryDecision.default()
        if not retriable:
            return RetryDecision.fail(f"{kind} would end the same way again")
        wait = getattr(exception, "retry_after", None)
        return RetryDecision.retry(
            timedelta(seconds=wait) if wait else None, reason=f"{kind} may pass"
        )


CREATION: dict[str, Any] = {
    **SERVICE,
    "retries": OUTAGE_RETRIES,
    "retry_policy": ServiceRetryPolicy(RETRIES),
}
"""What `@task` gets where the task is a step of a drop: an outage of hours needs no operator."""


def tell_of_failure(context: Context) -> None:
    """Raise and tell that a task has given up: Airflow calls it once, after the last try."""
    from bms_provider.tasks import watch  # noqa: PLC0415 - not what a DAG file loads when parsed

    watch.failed(context)


async def tell_of_delay(context: dict[str, Any]) -> None:
    """Raise that a run outlasts its time: the triggerer awaits it at the deadline; the watchdog tells.

    Not on the executor: Airflow 3.3.2 refuses connections (403) to callbacks that run there.
    """
    from bms_provider.flow_context import WAREHOUSE_CONN_ID  # noqa: PLC0415 - as above

    warehouse = await BaseHook.aget_connection(WAREHOUSE_CONN_ID)
    await asyncio.to_thread(_raise_delay, warehouse, context)


def _raise_delay(warehouse: Connection, context: dict[str, Any]) -> None:
    from bms_provider.tasks import watch  # noqa: PLC0415 - as above

    watch.overdue(warehouse, context)


def dag_arguments(*tags: str, within: timedelta | None = None) -> dict[str, Any]:
    """Return what `@dag` gets in every file: no catch-up, a few patient retries, our tags.

    A red task is told of, once, after its last try. `within` is the time that a run may take from
    being queued, whatever it waits for; one that outlasts it is told of too.
    """
    # From being queued: runs that a person starts have no logical date.
    deadline = within and DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=within,
        callback=AsyncCallback(tell_of_delay),
    )
    return {
        **({"deadline": deadline} if deadline else {}),
        "catchup": False,
        "tags": ["bms", *tags],
        "default_args": {
            "owner": "bms",
            "retries": RETRIES,
            "retry_delay": timedelta(minutes=1),
            "retry_exponential_backoff": True,
            "max_retry_delay": timedelta(minutes=30),
            "retry_policy": ServiceRetryPolicy(),
            "on_failure_callback": tell_of_failure,
        },
    }


DROPS_AT_ONCE = 500
"""Runs of a drop's DAG at once: one that waits for a person is among them, and holds no worker."""

APPROVAL_TIME = timedelta(hours=number("BMS_APPROVAL_HOURS", 72))
"""How long a person's answer to a plan is waited for; then it counts as a rejection."""

INVOICES = AssetAlias("bms_client_invoice")
"""Stands for the asset of each entity whose invoices were loaded."""

ENTITIES = Param(
    None,
    type=["null", "array"],
    items={"type": "integer"},
    title="Entities",
    description="Numbers of the entities; those of the connection by default.",
)


def day(title: str, description: str) -> Param:
    """Return a param that takes a day, or nothing."""
    return Param(None, type=["null", "string"], format="date", title=title, description=description)


def details(record: str, fields: str) -> dict[str, Param]:
    """Return the param of a mirror that can do without what only a record's detail holds."""
    return {
        "details": Param(
            True,
            type="boolean",
            title="Read details",
            description=f"One request for each new or changed {record}: {fields}."
            " Without, these stay as they stand.",
        )
    }


def mirror(record: str) -> dict[str, Param]:
    """Return the params of every mirror."""
    return {
        "full": Param(
            False,
            type="boolean",
            title="Read every detail again",
            description=f"One request for each {record}, changed or not; BMS_MIRROR_DETAILS does not"
            " bound it.",
        ),
        "accept_gone": Param(
            False,
            type="boolean",
            title="Mark as gone however many",
            description="After a look at the service; each is still confirmed by its detail.",
        ),
    }
