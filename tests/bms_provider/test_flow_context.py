"""Metrics through Airflow's own backend to a real StatsD listener; the address of the warehouse."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from airflow.providers.postgres.hooks.postgres import PostgresHook
from airflow.sdk import Connection
from airflow.sdk._shared.observability.metrics import stats as backend
from airflow.sdk.observability import stats
from airflow.sdk.observability.metrics.stats_utils import get_stats_factory
from sqlalchemy import URL, make_url

from bms.counters import Counters
from bms_flows.runtime.settings import InvalidSetting
from bms_provider import flow_context
from bms_provider.hooks.connection import BadConnection
from tests.e2e.airflow_api import until
from tests.listeners import Statsd, statsd


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Statsd]:
    """A StatsD listener, configured as Airflow configures metrics for a task."""
    with statsd() as found, monkeypatch.context() as metrics:
        for name, value in found.variables.items():
            metrics.setenv(name, value)
        stats.initialize(factory=get_stats_factory(), export_legacy_names=False)
        yield found
        vars(backend._get_backend())["statsd"].close()
        metrics.setenv("AIRFLOW__METRICS__STATSD_ON", "False")
        stats.initialize(factory=get_stats_factory(), export_legacy_names=False)


def arrived(listener: Statsd, wanted: set[str]) -> None:
    until(lambda: wanted <= set(listener.lines), lambda: (wanted, listener.lines))


@pytest.mark.parametrize("address", ["data", " ", "./data", "file://data/bms", "s3:/bucket"])
def test_a_relative_data_root_names_its_setting(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each component would have its own folder, so that no dropped file would be found."""
    monkeypatch.setenv("BMS_DATA_ROOT", address)
    with pytest.raises(
        InvalidSetting, match=f"^BMS_DATA_ROOT is '{address}'. Set it to an absolute"
    ):
        flow_context.data_root()


@pytest.mark.parametrize("address", ["/srv/my bms", "file:///srv/bms", "s3://aws_default@b/bms"])
def test_an_absolute_data_root_is_used(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BMS_DATA_ROOT", address)
    assert flow_context.data_root().path == address.rpartition("@")[2].removeprefix("file://")


def test_the_counters_of_a_client_are_emitted(listener: Statsd) -> None:
    counters = Counters(
        requests=7, retries=2, throttles=1, token_fetches=1, latencies={"list_contacts": [0.25]}
    )
    flow_context.emit(counters, "mirror_contact")
    arrived(
        listener,
        {
            "airflow.bms.requests,operation=mirror_contact:7|c",
            "airflow.bms.retries,operation=mirror_contact:2|c",
            "airflow.bms.throttles,operation=mirror_contact:1|c",
            "airflow.bms.token_fetches,operation=mirror_contact:1|c",
            "airflow.bms.latency,operation=mirror_contact,endpoint=list_contacts:250.000000|ms",
        },
    )


def test_the_row_counts_of_a_load_are_emitted(listener: Statsd) -> None:
    counts = {"inserted": 5, "changed": 4, "unchanged": 3, "quarantined": 2, "missing": 1}
    flow_context.emit_rows("contact", {**counts, "rows_read": 14})
    arrived(
        listener,
        {
            f"airflow.bms.rows,resource=contact,outcome={outcome}:{rows}|c"
            for outcome, rows in counts.items()
        },
    )


def test_gauges_are_emitted(listener: Statsd) -> None:
    stats.gauge("bms.freshness", 3600.0, tags={"flow": "contact_sync"})
    stats.gauge("bms.unknown", 2.0, tags={"resource": "employee"})
    arrived(
        listener,
        {
            "airflow.bms.freshness,flow=contact_sync:3600.0|g",
            "airflow.bms.unknown,resource=employee:2.0|g",
        },
    )


def warehouse(**extra: Any) -> URL:
    """Return the address of a connection with these extras."""
    connection = Connection(
        conn_id="bms_warehouse",
        conn_type="postgres",
        host="db.example",
        login="bms",
        schema="warehouse",
        extra=json.dumps(extra),
    )
    return make_url(flow_context.warehouse_uri(connection))


def test_extras_of_the_hook_and_empty_extras_do_not_reach_the_database() -> None:
    """The extras that `PostgresHook` keeps to itself, and null, which the form sends for an empty field."""
    own: dict[str, Any] = dict.fromkeys(PostgresHook.ignored_extra_options, "x")
    for name in ("iam", "redshift", "redshift-serverless"):
        own[name] = False
    found = warehouse(**own, sslmode="require", sslrootcert=None, connect_timeout=5, passfile="")
    assert found.query == {"sslmode": "require", "connect_timeout": "5"}


@pytest.mark.parametrize("name", ["iam", "redshift", "redshift-serverless"])
def test_a_login_by_token_is_refused_with_the_alternatives(name: str) -> None:
    """A token expires after 15 minutes; a load may open a session later."""
    with pytest.raises(BadConnection, match=f"bms_warehouse: extra {name} .* sslcert and sslkey"):
        warehouse(**{name: True, "aws_conn_id": "aws_default"})


def test_an_extra_that_postgresql_does_not_know_is_named() -> None:
    with pytest.raises(BadConnection, match="bms_warehouse: extra sslmod is no parameter of libpq"):
        warehouse(sslmod="require")
