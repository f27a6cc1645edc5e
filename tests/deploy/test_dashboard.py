"""The dashboard shows, and the catalog describes, exactly the metrics that the flows send."""

import json
import re
from pathlib import Path

import pytest

from bms_flows.monitoring.metrics import METRICS

pytestmark = pytest.mark.bookkeeping

PROJECT = Path(__file__).parents[2]
DASHBOARD = PROJECT / "deploy/monitoring/grafana/dashboards/bms.json"
SENDERS = [*PROJECT.glob("plugins/**/*.py"), PROJECT / "include/bms_flows/monitoring/gauges.py"]


def test_the_dashboard_shows_only_emitted_metrics() -> None:
    shown = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            shown |= set(re.findall(r"airflow_bms_(\w+?)(?:_bucket)?\b", target["expr"]))
    sent = {
        name
        for file in SENDERS
        for name in re.findall(
            r'(?:stats\.(?:incr|timing|gauge)|Gauge)\(\s*"bms\.(\w+)"', file.read_text()
        )
    }
    assert {"requests", "latency", "rows", "freshness", "unknown"} <= sent
    assert shown == sent
    assert METRICS.keys() == {f"bms.{name}" for name in sent}


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells
