"""Alert rules and dashboard with a real stack, Prometheus and Alertmanager, up to the message in the chat."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from stack.launcher import Running, free_port, running
from tests import services
from tests.e2e.airflow_api import Airflow, kill_scheduler, scheduler_again, until
from tests.e2e.conftest import own_environment
from tests.listeners import Webhook, metrics_page, statsd, webhook

pytestmark = pytest.mark.prove

MONITORING = Path(__file__).parents[2] / "deploy/monitoring"
POOL = "bms_service"
SHORTER = {"15s": "2s", "30s": "1s", "5m": "20s", "15m": "20s"}
"""Durations of the files, and those here."""
WAIT_S = 240.0
RARE = {"sum(increase(airflow_bms_throttles[1h]))"}
"""Queries of the dashboard without data in a run without faults."""


@dataclass
class Monitored:
    """A stack with its Prometheus, and the chat that gets the alerts."""

    stack: Running
    airflow: Airflow
    prometheus: str
    chat: Webhook

    def query(self, expression: str) -> list[Any]:
        url = f"{self.prometheus}/api/v1/query"
        response = httpx.get(url, params={"query": expression}, trust_env=False)
        assert response.status_code == httpx.codes.OK, (expression, response.text)
        return list(response.json()["data"]["result"])

    def firing(self) -> set[str]:
        alerts = self.query('ALERTS{alertstate="firing"}')
        return {each["metric"]["alertname"] for each in alerts}

    def sent(self, title: str) -> None:
        until(lambda: title in " ".join(self.chat.texts), lambda: self.chat.texts, WAIT_S)


def shortened(name: str, folder: Path, **replaced: str) -> Path:
    """Copy a file of the monitoring with shorter durations and other addresses; return its path."""
    text = (MONITORING / name).read_text()
    for found, other in replaced.items():
        text = text.replace(found, other)
    text = re.sub(r"(?<=[ \[])(15s|30s|5m|15m)(?=[\]\n])", lambda long: SHORTER[long[0]], text)
    (folder / name).write_text(text)
    return folder / name


@contextmanager
def program(name: str, *arguments: str, ready: str, log: Path) -> Iterator[None]:
    """Run a program of the monitoring until the block ends; begin once its address `ready` answers."""

    def is_ready() -> bool:
        try:
            return httpx.get(ready, trust_env=False).is_success
        except httpx.TransportError:
            return False

    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - programs of the monitoring
            [services.program(name), *arguments], stdout=output, stderr=output
        )
        try:
            until(is_ready, log.read_text)
            yield
        finally:
            process.terminate()
            process.wait()


@pytest.fixture(scope="module")
def monitored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    folder = tmp_path_factory.mktemp("monitored")
    prometheus, alertmanager = (f"127.0.0.1:{free_port(None)}" for _ in range(2))
    with statsd() as metrics, webhook() as chat, metrics_page(metrics.bridge.exposition) as page:
        (folder / "webhook").write_text(chat.url)
        secret = "/tmp/webhook"  # noqa: S108 - the container's file
        alerts = shortened("alertmanager.yaml", folder, **{secret: f"{folder}/webhook"})
        shortened("rules.yaml", folder)
        addresses = {"statsd-exporter:9102": page, "alertmanager:9093": alertmanager}
        config = shortened("prometheus.yaml", folder, **addresses, **{"127.0.0.1:9090": prometheus})
        given = {
            **own_environment(),
            "BMS_LOCAL_DIR": f"{folder}/local",
            **metrics.variables,
            "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
        }
        with (
            program(
                "prometheus-alertmanager",
                f"--config.file={alerts}",
                f"--storage.path={folder}/alertmanager",
                f"--web.listen-address={alertmanager}",
                "--cluster.listen-address=",
                ready=f"http://{alertmanager}/-/ready",
                log=folder / "alertmanager.log",
            ),
            running(given) as stack,
            program(
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={folder}/prometheus",
                f"--web.listen-address={prometheus}",
                ready=f"http://{prometheus}/-/ready",
                log=folder / "prometheus.log",
            ),
        ):
            airflow = Airflow(stack)
            yield Monitored(stack, airflow, f"http://{prometheus}", chat)
            airflow.close()


def run_to_the_end(monitored: Monitored, dag: str) -> str:
    monitored.airflow.pause(dag, paused=False)
    return monitored.airflow.end_of(dag, monitored.airflow.trigger(dag))


def test_every_query_of_the_dashboard_shows_a_run(monitored: Monitored) -> None:
    dashboard = json.loads((MONITORING / "grafana/dashboards/bms.json").read_text())
    queries = {
        target["expr"] for panel in dashboard["panels"] for target in panel["targets"]
    } - RARE
    left = set(queries)
    for _ in range(5):  # an increase needs two samples
        assert run_to_the_end(monitored, "contact_sync") == "success"
        assert run_to_the_end(monitored, "freshness_watchdog") == "success"
        left = {query for query in queries if not monitored.query(query)}
        if not left:
            break
    assert not left
    for query in RARE:
        monitored.query(query)
    assert monitored.firing() == set()


def test_every_alert_reaches_the_chat_and_so_does_its_end(monitored: Monitored) -> None:
    kill_scheduler()
    monitored.sent("Alarm: SchedulerSilent")
    with scheduler_again(monitored.stack):
        monitored.sent("Recovered: SchedulerSilent")
        monitored.airflow.call("DELETE", f"/pools/{POOL}")
        monitored.sent("Alarm: PoolMissing")
        monitored.airflow.call("POST", "/pools", {"name": POOL, "slots": 32})
        monitored.sent("Recovered: PoolMissing")
        resize(monitored, 1)
        monitored.airflow.trigger("contact_sync")
        monitored.sent("Alarm: PoolStarving")
        resize(monitored, 32)
        monitored.sent("Recovered: PoolStarving")


def resize(monitored: Monitored, slots: int) -> None:
    pool = {"pool": POOL, "slots": slots, "include_deferred": False}
    monitored.airflow.call("PATCH", f"/pools/{POOL}", pool)
