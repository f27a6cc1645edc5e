"""The files of deploy/monitoring, checked by the programs of Prometheus."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests import services

MONITORING = Path(__file__).parents[2] / "deploy/monitoring"
POOL = '{pool_name="bms_service"}'
HEALTHY = {
    "airflow_scheduler_heartbeat": "0+12x60",
    f"airflow_pool_open_slots{POOL}": "32x60",
    f"airflow_pool_starving_tasks{POOL}": "0x60",
    f"airflow_pool_running_slots{POOL}": "0x60",
}
"""Series of an hour, a sample a minute."""
FAILURES = {
    "SchedulerSilent": ({"airflow_scheduler_heartbeat": "0+12x10 120x20 120+12x30"}, 22),
    "PoolMissing": ({f"airflow_pool_open_slots{POOL}": "32x10 _x20 32x30"}, 24),
    "PoolStarving": ({f"airflow_pool_starving_tasks{POOL}": "0x10 3x20 0x30"}, 27),
}
"""By alert: the series of a failure from minute 11 to 30, and a minute in which the alert fires."""


def run(program: str, *arguments: str, folder: Path) -> None:
    command = [services.program(program), *arguments]
    done = subprocess.run(  # noqa: S603 - programs of the monitoring
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def rule_test(alert: str, series: dict[str, str], fires: int | None) -> dict[str, object]:
    """Return a test of `promtool`: the alert fires at a minute, and at no other that is named."""
    rules = yaml.safe_load((MONITORING / "rules.yaml").read_text())["groups"][0]["rules"]
    [rule] = [each for each in rules if each["alert"] == alert]
    labels = {"pool_name": "bms_service"} if alert != "SchedulerSilent" else {}
    fired = [{"exp_labels": labels, "exp_annotations": rule["annotations"]}]
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": text} for name, text in series.items()],
        "alert_rule_test": [
            {
                "eval_time": f"{minute}m",
                "alertname": alert,
                "exp_alerts": fired if minute == fires else [],
            }
            for minute in (9, 13, *([fires] if fires else []), 45)
        ],
    }


def test_the_files_are_valid(tmp_path: Path) -> None:
    shutil.copytree(MONITORING, tmp_path / "monitoring")
    run("promtool", "check", "config", "prometheus.yaml", folder=tmp_path / "monitoring")
    (tmp_path / "webhook").write_text("http://127.0.0.1/hook")
    run("amtool", "check-config", "alertmanager.yaml", folder=tmp_path / "monitoring")


@pytest.mark.parametrize("alert", FAILURES)
def test_an_alert_fires_during_its_failure_only(alert: str, tmp_path: Path) -> None:
    failing, fires = FAILURES[alert]
    tests = [rule_test(alert, HEALTHY, None), rule_test(alert, {**HEALTHY, **failing}, fires)]
    shutil.copy(MONITORING / "rules.yaml", tmp_path)
    content = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(content))
    run("promtool", "test", "rules", "tests.yaml", folder=tmp_path)


def test_every_alert_is_tested() -> None:
    rules = yaml.safe_load((MONITORING / "rules.yaml").read_text())["groups"][0]["rules"]
    assert {rule["alert"] for rule in rules} == FAILURES.keys()
