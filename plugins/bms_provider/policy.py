"""Defaults that all DAGs share: retry policy, failure callbacks, tags, pool, params."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from airflow.sdk import (  # type: ignore[attr-defined]  # Airflow's stubs lack the names of deadlines
    AsyncCallback,
    BaseHook,
    DeadlineAlert,
    DeadlineReference,
    Param,
)

from bms_provider import addresses, compat, pool
from bms_provider.compat import RetryDecision, RetryPolicy

if TYPE_CHECKING:
    from types import ModuleType

    from airflow.sdk import Connection, Context

N = TypeVar("N", int, float)
MILLION = 10**6
"""Limit of a number; `bms_flows.runtime.settings` has the same limit."""


def positive_number(variable: str, default: N) -> N:
    """Return a number of the default's type from the environment; raise `ValueError` that names the variable."""
    text, kind = os.environ.get(variable) or str(default), type(default)
    try:
        given = kind(text)
    except ValueError:
        given = kind(-1)
    if not 0 < given < MILLION:
        whole = "whole " if kind is int else ""
        raise ValueError(
            f"{variable} is {text!r}. Set it to a {whole}number above 0, below a million."
        )
    return given


def time_zone() -> str:
    """Return the company's time zone; raise `ValueError` that names the variable: Airflow would name none."""
    name = os.environ.get("BMS_TIME_ZONE") or "Europe/Paris"
    try:
        return ZoneInfo(name).key
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise ValueError(
            f"BMS_TIME_ZONE is {name!r}. Set it to the name of a time zone, such as Europe/Paris."
        ) from None


TIME_ZONE = time_zone()
"""The company's time zone; `bms_flows.runtime.settings` reads the same variable for the tasks."""

TASK_SLOTS = positive_number("BMS_TASK_SLOTS", pool.TASK_SLOTS)
"""Pool slots of a task: its maximum number of requests in flight."""

SERVICE: dict[str, Any] = {"pool": pool.NAME, "pool_slots": TASK_SLOTS}
"""Arguments of a task that sends requests to the service."""

ONE_REQUEST: dict[str, Any] = {"pool": pool.NAME, "pool_slots": 1}
"""Arguments of a task that sends one request at a time."""


DROP_PRIORITY = 10
"""`priority_weight` of the tasks that process drops; all other tasks have 1."""

RETRIES = 3
"""Retries of a task, unless service or warehouse is unreachable."""
OUTAGE_RETRIES = 12
"""Retries while service or warehouse is unreachable: about five hours."""
OUTAGE_TRIES = "outage_tries"
"""Key of the numbers of the tries that an outage ended, in the state that a task keeps over its tries."""


class ServiceRetryPolicy(RetryPolicy):
    """Retry errors that may pass; fail for good if a retry is useless or could repeat a creation.

    The client's typed errors carry `retriable`, and `retry_after` if the service names a delay.
    `retries` limits the retries of a task with `OUTAGE_RETRIES` after errors other than an outage. Tries
    that an outage ended and tries before the task was cleared do not count; a killed try counts.
    """

    def __init__(self, retries: int | None = None) -> None:
        self.retries = retries

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,
        max_tries: int,
        context: Context | None = None,
    ) -> RetryDecision:
        """Decide by the error's attributes; use Airflow's default for errors without them."""
        retriable = getattr(exception, "retriable", None)
        kind = type(exception).__name__
        if retriable is not None and not retriable:
            return RetryDecision.fail(f"{kind} is not retriable")
        if self.retries is not None:
            outage = bool(retriable and getattr(exception, "retry_for_hours", False))
            counted = _counted_tries(try_number, max_tries, context, outage=outage)
            if counted > self.retries and not outage:
                return RetryDecision.fail(f"{kind} after {try_number} attempts")
        if retriable is None:
            return RetryDecision.default()
        wait = getattr(exception, "retry_after", None)
        return RetryDecision.retry(
            timedelta(seconds=wait) if wait else None, reason=f"{kind} may pass"
        )


def _counted_tries(
    try_number: int, max_tries: int, context: Context | None, *, outage: bool
) -> int:
    """Return the tries since the task was cleared that no outage ended, and save an outage's try."""
    # Airflow adds the task's retries to the tries so far.
    cleared_after = max(max_tries - OUTAGE_RETRIES, 0)
    store = context["task_state_store"] if context else None
    outages: Any = store.get(OUTAGE_TRIES, []) if store is not None else []
    if outage and store is not None:
        store.set(OUTAGE_TRIES, [*outages, try_number])
    return try_number - cleared_after - len([each for each in outages if each > cleared_after])


def _callbacks() -> ModuleType:
    """Return the module of the callbacks; raise `MissingExtra` in a base installation."""
    from bms_flows import extra  # noqa: PLC0415 - keeps DAG parsing fast

    extra.require()
    from bms_provider import callbacks  # noqa: PLC0415

    return callbacks


def notify_failure(context: Context) -> None:
    """Raise and send the alarm of a failed task; Airflow calls this after the last retry."""
    _callbacks().task_failed(context)


def event_recorded(context: Context) -> None:
    """Record which changes the events of a task report; Airflow calls this after its success."""
    _callbacks().event_recorded(context)


def drop_ended(context: Context) -> None:
    """Notify the recipient of the inbox how a drop ended."""
    _callbacks().drop_ended(context)


REPORT: dict[str, Any] = {
    **SERVICE,
    "trigger_rule": "all_done",
    "on_success_callback": drop_ended,
    "on_failure_callback": [notify_failure, drop_ended],
}
"""Arguments of the task that writes the report of a drop, whatever happened before it."""

LOAD = SERVICE
"""Former arguments of a task that loads a table; removed in 0.3.0."""


async def raise_overdue(context: dict[str, Any]) -> None:
    """Raise the alarm of an overdue run; the triggerer calls this at the deadline.

    The watchdog sends the message. The callback does not run on the executor: Airflow 3.3.2 denies
    connections (403) to callbacks there.
    """
    from bms_provider.flow_context import WAREHOUSE_CONN_ID  # noqa: PLC0415 - as above

    warehouse = await BaseHook.aget_connection(WAREHOUSE_CONN_ID)
    await asyncio.to_thread(_run_overdue, warehouse, context)


def _run_overdue(warehouse: Connection, context: dict[str, Any]) -> None:
    _callbacks().run_overdue(warehouse, context)


def documentation(text: str | None, dag_id: str) -> str:
    """Return the `doc_md` of a DAG: its text, what a run does in order, and a link to the board."""
    from bms_flows.catalog import FLOWS  # noqa: PLC0415 - operators import this module

    flow = FLOWS[dag_id]
    steps = "".join(f"\n{number}. {step}" for number, step in enumerate(flow.process, 1))
    page = addresses.flow(dag_id) if flow.on_board else f"{addresses.BOARD}/"
    return f"{text}\n**A run**\n{steps}\n\n[Runs, counts and alarms on the board]({addresses.airflow()}{page})\n"


def dag_arguments(
    *tags: str, deadline: timedelta | None = None, paused: bool = True
) -> dict[str, Any]:
    """Return the arguments of `@dag` that all DAGs share.

    A new DAG starts paused, even if `dags_are_paused_at_creation` is false, unless `paused` is false.

    An alarm reports a task that failed after its last retry, and a run that has not ended `deadline`
    after it was queued. When slots become free, Airflow queues the tasks of drops (tag ``drops``)
    before those of all other DAGs, however old the days of a backfill are. A task outlasts an outage of
    several hours.
    """
    # Counted from queuing, since manual runs have no logical date.
    alert = deadline and DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=compat.deadline_interval(deadline),
        callback=AsyncCallback(raise_overdue),
    )
    return {
        **({"deadline": alert} if alert else {}),
        "catchup": False,
        "is_paused_upon_creation": paused,
        "tags": ["bms", *tags],
        "default_args": {
            "owner": "bms",
            "priority_weight": DROP_PRIORITY if "drops" in tags else 1,
            "weight_rule": "absolute",
            # Without a retry policy, every error would be repeated for hours before its alarm.
            "retries": OUTAGE_RETRIES if compat.HAS_RETRY_POLICIES else RETRIES,
            "retry_delay": timedelta(minutes=1),
            "retry_exponential_backoff": True,
            "max_retry_delay": timedelta(minutes=30),
            **compat.retry_arguments(ServiceRetryPolicy(RETRIES)),
            "on_failure_callback": notify_failure,
        },
    }


WITHOUT_WINDOW: Any = (  # names, which Airflow's annotation omits
    *("scheduled", "manual", "asset_materialization"),
    *(("operator_triggered",) if compat.HAS_RETRY_POLICIES else ()),  # "manual" in Airflow 3.2
)
"""Allowed run types of a DAG that loads the current state, for which a backfill would repeat it."""

MAX_DROP_RUNS = 500
"""Active runs of an onboarding DAG; runs that wait for an approval count too but use no worker."""

APPROVAL_TIMEOUT = timedelta(hours=positive_number("BMS_APPROVAL_HOURS", 72.0))
"""Time to answer an approval request; the plan is rejected when it expires."""

INTEGER: dict[str, Any] = {"type": ["null", "integer"], "minimum": 0, "maximum": 2**63 - 1}
"""Schema of an integer param. A larger number ends Airflow's DAG processor: its messages have 64 bits."""

ENTITIES = Param(
    None,
    type=["null", "array"],
    items=INTEGER | {"type": "integer"},
    title="Entities",
    description="Numbers of the entities. Empty: those of the connection.",
)


def date_param(title: str, description: str) -> Param:
    """Return an optional date param."""
    # A year such as 0026 would request two thousand years.
    kind: dict[str, Any] = {"type": ["null", "string"], "format": "date", "pattern": "^(19|20)"}
    return Param(None, **kind, title=title, description=description)


def language_param(what: str) -> Param:
    """Return an optional param with the language of `what`."""
    return Param(
        None,
        type=["null", "string"],
        enum=[None, "EN", "FR"],
        values_display={"null": "BMS_LANGUAGE", "EN": "English", "FR": "French"},
        title="Language",
        description=f"Language of {what}. Empty: BMS_LANGUAGE.",
    )
