"""Two Celery workers with separate disks and files on S3: all DAGs run, and a killed worker loses nothing.

The tests run the services of docker-compose.yaml as processes, with their commands and environment.
"""

import json
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import psycopg
import pytest
from moto.server import ThreadedMotoServer

from bms_flows.catalog import FLOWS
from bms_provider import pool
from bms_sandbox.serve import Sandbox
from bms_sandbox.tokens import Credentials
from tests import services
from tests.deploy.compose import PROJECT, draw_secrets, variables
from tests.deploy.topology import Topology
from tests.e2e.airflow_api import DONE, Airflow, until
from tests.support.french_excel import in_letters

pytestmark = [pytest.mark.prove, pytest.mark.services]

WORKERS = ("worker-1", "worker-2")
BUCKET = "bms"
SLOTS, TASK_SLOTS = 8, 4
FIRST, LAST = date(2026, 1, 1), date(2026, 6, 29)
ROWS = 60
HEADER = "Matricule;Nom;Prénom;Entité;Date d'entrée\r\n"
OWN = {
    "BMS_APPROVAL": "never",
    "BMS_DATA_ROOT": f"s3://aws_default@{BUCKET}/root",
    "BMS_SETTLE_S": "2",
    "BMS_TASK_SLOTS": str(TASK_SLOTS),
}
"""What an operator adds to .env."""
OVERRIDE = {
    "BMS_TEST_CONSTANTS": '{"chunk_rows": 20, "lease_s": 20, "unit_days": 60}',
    "PYTHONPATH": str(PROJECT / "tests/e2e/constants"),
    # What a task's silence means is known after 20 seconds instead of five minutes.
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT": "60",
    "AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT_CHECK_INTERVAL": "10",
    "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
    "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",
}
"""What an operator adds to docker-compose.override.yaml."""

STARTED_BY_DROPS = {"employee_onboarding", "contact_creation", "consultant_creation"}


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """An object store with our bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    login = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    client = boto3.client(
        "s3", endpoint_url=f"http://{host}:{port}", region_name="eu-west-3", **login
    )
    client.create_bucket(
        Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-3"}
    )
    yield client
    server.stop()


@pytest.fixture(scope="module")
def topology(store: Any) -> Iterator[Topology]:
    """The whole topology with two workers."""
    if shutil.which("redis-server") is None:
        services.redis_url()  # skipped, or failed where services are required
    folder = Path(tempfile.mkdtemp(prefix="bms-topology-"))
    aws = {
        "conn_type": "aws",
        "login": "any",
        "password": "any",
        "extra": {"endpoint_url": store.meta.endpoint_url, "region_name": "eu-west-3"},
    }
    env = {**variables(draw_secrets(folder)), **OWN, "AIRFLOW_CONN_AWS_DEFAULT": json.dumps(aws)}
    found = Topology(folder, env, OVERRIDE)
    try:
        found.up(WORKERS)
        yield found
    finally:
        found.down()


@pytest.fixture(scope="module")
def airflow(topology: Topology) -> Iterator[Airflow]:
    """Airflow's API, with every DAG listed and unpaused."""
    until(lambda: _answers(f"{topology.url}/api/v2/monitor/health"), lambda: "no api-server")
    password = topology.env["AIRFLOW_ADMIN_PASSWORD"]
    api = Airflow(SimpleNamespace(url=topology.url, user="admin", password=password))  # type: ignore[arg-type]  # all that it asks of a stack
    until(lambda: dags(api) >= FLOWS.keys(), lambda: api.call("GET", "/importErrors"))
    for dag in FLOWS:
        api.pause(dag, paused=False)
    yield api
    api.close()


def dags(airflow: Airflow) -> set[str]:
    return {each["dag_id"] for each in airflow.call("GET", "/dags?limit=100")["dags"]}


@pytest.fixture(scope="module")
def sandbox(topology: Topology) -> Sandbox:
    until(lambda: _answers(f"{topology.sandbox_url}/_sandbox/health"), lambda: "no sandbox")
    login = ("compose", "compose", topology.env["BMS_SANDBOX_SECRET"])
    return Sandbox(topology.sandbox_url, Credentials(*login))


@pytest.fixture(scope="module")
def warehouse(topology: Topology) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(topology.database("bms"), autocommit=True) as connection:
        yield connection


def test_the_pool_exists_before_the_first_run(airflow: Airflow) -> None:
    stands = airflow.call("GET", f"/pools/{pool.NAME}")
    found = {
        "pool": stands["name"],
        **{name: stands[name] for name in ("slots", "include_deferred")},
    }
    assert found["slots"] == pool.SLOTS
    airflow.call("PATCH", f"/pools/{pool.NAME}?update_mask=slots", {**found, "slots": SLOTS})


def test_a_killed_worker_loses_nothing(
    topology: Topology,
    airflow: Airflow,
    sandbox: Sandbox,
    warehouse: psycopg.Connection[Any],
    store: Any,
) -> None:
    """One worker is killed during an extraction, the other during an onboarding; both restart."""
    sandbox.reset_counts()
    sandbox.set_latency(0.5)
    run = airflow.trigger(
        "invoice_extraction", start_date=f"{FIRST}", end_date=f"{LAST}", entities=[1, 2]
    )
    victim = kill_one_that_runs(topology, airflow, "invoice_extraction", run, "extract")
    rows = "".join(f"7{n:05d};{in_letters(n)};Zoé;1;2027-01-04\r\n" for n in range(ROWS))
    store.put_object(
        Bucket=BUCKET, Key="root/inbox/employees/new.csv", Body=(HEADER + rows).encode()
    )
    until(lambda: 5 <= made(sandbox) < ROWS, lambda: airflow.runs("inbox_dispatch"))
    (drop,) = warehouse.execute("select dag_run_id from bms.dropped_file").fetchall()
    other = kill_one_that_runs(topology, airflow, "employee_onboarding", drop[0], "create")
    assert made(sandbox) < ROWS
    sandbox.set_latency(0.0)
    for container in {victim, other}:
        topology.start("worker", container)
    for dag, each in (("invoice_extraction", run), ("employee_onboarding", drop[0])):
        assert airflow.end_of(dag, each) == "success"


def kill_one_that_runs(topology: Topology, airflow: Airflow, dag: str, run: str, task: str) -> str:
    """Kill the worker that runs a task, found by the task's log on its disk; return its name."""

    def found() -> list[str]:
        states = airflow.call("GET", f"/dags/{dag}/dagRuns/{run}/taskInstances?limit=100")
        at_work = {
            each["map_index"]
            for each in states["task_instances"]
            if each["task_id"] == task and each["state"] == "running"
        }
        return [
            worker
            for worker in topology.running
            for index in at_work
            if worker in WORKERS and writes_a_log(topology, worker, dag, task, index)
        ]

    until(lambda: bool(found()), lambda: (airflow.runs(dag), run))
    (victim, *_) = found() or [""]
    topology.kill(victim)
    return victim


def writes_a_log(topology: Topology, worker: str, dag: str, task: str, index: int) -> bool:
    pattern = f"dag_id={dag}/*/task_id={task}/map_index={index}/*.log"
    return any((topology.home(worker) / "airflow/logs").glob(pattern))


def made(sandbox: Sandbox) -> int:
    return len(sandbox.truth()["created"]["employees"])


def test_no_invoice_is_lost_or_duplicated(
    sandbox: Sandbox, warehouse: psycopg.Connection[Any]
) -> None:
    """Scheduled runs read other days meanwhile; the query ignores these days."""
    for entity in (1, 2):
        told = [row["id_invoice"] for row in sandbox.invoices(entity, FIRST, LAST)]
        asked = {"entity": entity, "first": FIRST, "last": LAST}
        found = warehouse.execute(
            "select id_invoice from bms.client_invoice where id_entity = %(entity)s"
            " and invoice_date between %(first)s and %(last)s",
            asked,
        ).fetchall()
        assert Counter(row[0] for row in found) == Counter(told)
        assert len(told) > 1000
        assert set(Counter(told).values()) == {1}
        first_versions = warehouse.execute(
            "select count(*) from bms.client_invoice_version where id_entity = %(entity)s"
            " and _version = 1 and invoice_date between %(first)s and %(last)s",
            asked,
        ).fetchone()
        assert first_versions == (len(told),)
        days = warehouse.execute(
            "select count(*), count(distinct day) from bms.client_invoice_day"
            " where id_entity = %(entity)s and day between %(first)s and %(last)s",
            asked,
        ).fetchone()
        assert days == ((LAST - FIRST).days + 1,) * 2


def test_every_row_of_the_drop_is_created_once(
    sandbox: Sandbox, warehouse: psycopg.Connection[Any], store: Any
) -> None:
    numbers = Counter(
        row["payroll_number"]
        for row in sandbox.rows("employees")
        if row["start_date"] == "2027-01-04"
    )
    assert numbers == {f"7{n:05d}": 1 for n in range(ROWS)}
    assert sandbox.truth()["duplicates"]["employees"] == []
    states = warehouse.execute("select state, count(*) from bms.creation group by 1").fetchall()
    assert dict(states).keys() <= {"created", "adopted"}
    assert sum(dict(states).values()) == ROWS
    ended = warehouse.execute("select state, report from bms.dropped_file").fetchall()
    assert [state for state, _ in ended] == ["applied"]
    listed = store.list_objects_v2(Bucket=BUCKET, Prefix=f"root/{ended[0][1]}/")
    assert [each for each in listed["Contents"] if "receipt" in each["Key"]]


def test_every_dag_succeeds(airflow: Airflow) -> None:
    others = dags(airflow) - STARTED_BY_DROPS - {"invoice_extraction", "inbox_dispatch"}
    triggered = {dag: airflow.trigger(dag) for dag in sorted(others)}

    def states() -> dict[str, str]:
        return {dag: airflow.runs(dag)[run] for dag, run in triggered.items()}

    until(lambda: set(states().values()) <= DONE, states)
    assert set(states().values()) == {"success"}, states()
    dispatches = airflow.runs("inbox_dispatch")
    assert dispatches
    assert set(dispatches.values()) == {"success"}, dispatches


def test_both_workers_used_their_own_disks(topology: Topology) -> None:
    ran = {
        worker: {path.parts for path in (topology.home(worker) / "airflow/logs").rglob("task_id=*")}
        for worker in WORKERS
    }
    assert min(map(len, ran.values())) >= 3
    for worker in WORKERS:
        assert re.search(r"Task .*execute_workload.* succeeded", topology.log(worker))
        assert not list((topology.home(worker) / "data").iterdir()), "files belong to the store"


def test_no_more_requests_were_in_flight_than_the_pool_has_slots(sandbox: Sandbox) -> None:
    assert TASK_SLOTS < sandbox.truth()["in_flight_max"] <= SLOTS


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - our own loopback address
            return True
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False
