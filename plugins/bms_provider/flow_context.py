"""Flow context of an Airflow task: warehouse, data root, settings, current step, metrics.

The functions read from Airflow synchronously: call them before an event loop starts.
"""

from __future__ import annotations

import logging
import os
import re
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from airflow.configuration import AIRFLOW_HOME
from airflow.sdk import BaseHook, ObjectStoragePath, conf, get_current_context

from bms_provider import compat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from airflow.sdk import Connection
    from upath import UPath

    from bms.counters import Counters
    from bms.settings import ClientSettings
    from bms_flows.onboarding.settings import OnboardingSettings
    from bms_flows.runtime.context import FlowContext
    from bms_flows.runtime.settings import FlowSettings
    from bms_flows.runtime.step_log import Step
    from bms_flows.runtime.windows import Window

S = TypeVar("S", bound="FlowSettings")

LOG = logging.getLogger(__name__)

WAREHOUSE_CONN_ID = "bms_warehouse"
ABSOLUTE = re.compile("(file|local):///|(?!file:|local:)[a-z0-9]+://.")
"""Beginning of an address that names one folder for every process."""


@contextmanager
def open_context(
    settings: FlowSettings | None = None, conn_id: str = WAREHOUSE_CONN_ID
) -> Iterator[FlowContext]:
    """Yield the flow context of the current task; close its warehouse afterwards."""
    from bms_flows.runtime import storage  # noqa: PLC0415 - operators import this module
    from bms_flows.runtime.context import FlowContext  # noqa: PLC0415
    from bms_warehouse import database  # noqa: PLC0415

    _warn_about_variables()
    uri = warehouse_uri(BaseHook.get_connection(conn_id))
    flow = FlowContext(database.connect(uri), data_root(), settings or flow_settings())
    try:
        with storage.explain_refusal(flow.data_root):
            yield flow
    finally:
        flow.warehouse.dispose()


@cache
def _warn_about_variables() -> None:
    """Log a warning for each variable ``BMS_*`` without effect, once per process."""
    from bms_flows.audit.settings import AuditSettings  # noqa: PLC0415 - as above
    from bms_flows.onboarding.settings import OnboardingSettings  # noqa: PLC0415
    from bms_flows.runtime.settings import without_effect  # noqa: PLC0415

    for text in without_effect(os.environ, (AuditSettings, OnboardingSettings)):
        LOG.warning("%s", text)


@contextmanager
def open_for_service(
    settings: ClientSettings, conn_id: str = WAREHOUSE_CONN_ID
) -> Iterator[FlowContext]:
    """Yield the flow context of a task that writes data of this service.

    Raises `ServiceMismatch` if the warehouse holds data of another service.
    """
    from bms_flows.runtime import service_identity  # noqa: PLC0415 - as above

    with open_context(None, conn_id) as flow:
        given = service_identity.ServiceIdentity.of(settings.base_url, settings.application_id)
        service_identity.require(flow.warehouse, given)
        yield flow


def flow_settings() -> FlowSettings:
    """Return the flow settings; Airflow's `[api] base_url` replaces ``BMS_AIRFLOW_URL``."""
    from bms_flows.runtime.settings import FlowSettings  # noqa: PLC0415 - as above

    return _with_address(FlowSettings.from_environment())


def onboarding_settings() -> OnboardingSettings:
    """Return the settings of onboardings, with Airflow's address."""
    from bms_flows.onboarding.settings import OnboardingSettings  # noqa: PLC0415 - as above

    return _with_address(OnboardingSettings.from_environment())


def _with_address(settings: S) -> S:
    address = conf.get("api", "base_url", fallback="")
    return replace(settings, airflow_url=address) if address else settings


def warehouse_uri(connection: Connection) -> str:
    """Return the libpq URI of a connection of type postgres; the host may be a socket folder.

    Raises `BadConnection` for an extra that is no parameter of libpq, and for a login by token.
    """
    from sqlalchemy import URL  # noqa: PLC0415

    host = connection.host or ""
    socket = {"host": host} if host.startswith("/") else {}
    address, mark, options = (
        URL.create(
            "postgresql",
            username=connection.login or None,
            password=connection.password or None,
            host=None if socket else host,
            port=connection.port,
            database=connection.schema,
            query={**_libpq_options(connection.conn_id, connection.extra_dejson), **socket},
        )
        .render_as_string(hide_password=False)
        .partition("?")
    )
    return address + mark + options.replace("+", "%20")  # libpq reads a plus as such


BY_TOKEN = ("iam", "redshift", "redshift-serverless")
"""Extras of `PostgresHook` that replace the password by a token."""
OF_THE_HOOK = {
    *BY_TOKEN,
    *("aws_conn_id", "azure_conn_id", "cluster-identifier", "workgroup-name"),
    *("cursor", "sqlalchemy_scheme", "sqlalchemy_query"),
}
"""Extras that `PostgresHook` does not pass to the database."""


def _libpq_options(conn_id: str, extra: Mapping[str, Any]) -> dict[str, str]:
    """Return the extras that have a value and are parameters of libpq."""
    from psycopg.pq import Conninfo  # noqa: PLC0415 - as above

    from bms_provider.hooks.connection import BadConnection  # noqa: PLC0415

    for name in BY_TOKEN:
        if extra.get(name):
            raise BadConnection(
                f"{conn_id}: extra {name} asks for a login by token, which expires while a load runs. "
                "Use a user with a password, or a client certificate: extras sslcert and sslkey."
            )
    given = {
        name: str(value)
        for name, value in extra.items()
        if name not in OF_THE_HOOK and value not in (None, "")
    }
    known = {each.keyword.decode() for each in Conninfo.get_defaults()}
    for name in given.keys() - known:
        raise BadConnection(
            f"{conn_id}: extra {name} is no parameter of libpq. Remove or correct it."
        )
    return given


def data_root(given: str = "") -> UPath:
    """Return the folder of all files: ``BMS_DATA_ROOT``, by default ``data`` in Airflow's home.

    Raises `InvalidSetting` for a relative path: each component of Airflow would have another folder.
    """
    address = given or os.environ.get("BMS_DATA_ROOT") or f"file://{AIRFLOW_HOME}/data"
    if address[0] != "/" and not ABSOLUTE.match(address):
        from bms_flows.runtime.settings import InvalidSetting  # noqa: PLC0415 - as above

        raise InvalidSetting(
            f"BMS_DATA_ROOT is {address!r}. Set it to an absolute path, such as /srv/bms, or to an"
            " address, such as s3://connection@bucket/bms."
        )
    root: Any = ObjectStoragePath(address)
    return root  # type: ignore[no-any-return]  # behaves as a UPath, which mypy cannot see


def step(name: str, *, id_entity: int | None = None, window: Window | None = None) -> Step:
    """Return the step of the current task, as `bms.step_run` records it."""
    from bms_flows.runtime.step_log import Step  # noqa: PLC0415

    run = get_current_context()["dag_run"]
    return Step(
        flow=run.dag_id,
        dag_run_id=run.run_id,
        name=name,
        id_entity=id_entity,
        window_start=window.start if window else None,
        window_end=window.end if window else None,
    )


def window_of_run(first: date | None, last: date | None) -> Window:
    """Return the days to read: the given days, else the data interval of the run, else yesterday."""
    from bms_flows.runtime.settings import FlowSettings  # noqa: PLC0415
    from bms_flows.runtime.windows import requested_window  # noqa: PLC0415

    run = get_current_context()["dag_run"]
    return requested_window(
        start_date=first,
        end_date=last,
        interval=(run.data_interval_start, run.data_interval_end)
        if run.data_interval_start and run.data_interval_end
        else None,
        run_after=run.run_after,
        zone=FlowSettings.from_environment().time_zone,
    )


@contextmanager
def rescheduled_while_busy() -> Iterator[None]:
    """Reschedule the task if another run works on the same data; this counts as no attempt."""
    from airflow.sdk.exceptions import AirflowRescheduleException  # noqa: PLC0415 - as above

    from bms_warehouse.locks import Busy  # noqa: PLC0415 - as above

    try:
        yield
    except Busy as busy:
        again = datetime.now(UTC) + timedelta(seconds=busy.retry_after)
        LOG.info("%s; this task tries again at %s", busy, again.isoformat(timespec="seconds"))
        raise AirflowRescheduleException(again) from None  # type: ignore[no-untyped-call]  # Airflow's own is untyped


@contextmanager
def counted(operation: str) -> Iterator[Counters]:
    """Yield counters for a client; emit them as metrics at the end, even after an error."""
    from bms.counters import Counters  # noqa: PLC0415 - as above

    counters = Counters()
    try:
        yield counters
    finally:
        emit(counters, operation)


def emit(counters: Counters, operation: str) -> None:
    """Emit a client's counters as Airflow metrics."""
    stats = compat.metrics()
    tags = {"operation": operation}
    stats.incr("bms.requests", counters.requests, tags=tags)
    stats.incr("bms.retries", counters.retries, tags=tags)
    stats.incr("bms.throttles", counters.throttles, tags=tags)
    stats.incr("bms.token_fetches", counters.token_fetches, tags=tags)
    for endpoint, seconds in counters.latencies.items():
        for second in seconds:
            stats.timing("bms.latency", 1000 * second, tags={**tags, "endpoint": endpoint})


def emit_rows(resource: str, counts: Mapping[str, Any]) -> None:
    """Emit the row counts of a load as Airflow metrics, one counter per outcome."""
    stats = compat.metrics()
    for outcome in ("inserted", "changed", "unchanged", "quarantined", "missing"):
        tags = {"resource": resource, "outcome": outcome}
        stats.incr("bms.rows", counts[outcome], tags=tags)
