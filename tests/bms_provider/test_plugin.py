"""The plugin of the installed distribution, loaded as Airflow loads it."""

import importlib.metadata
import json
import os
from pathlib import Path

from bms_flows.runtime.notice import BOARD
from bms_provider import addresses
from tests.support.interpreter import last_line

LOAD = """
import json
from airflow.plugins_manager import _get_plugins
plugins, errors = _get_plugins()
print(json.dumps([[each.name for each in plugins], errors]))
"""


def test_airflow_loads_the_plugin_once(project: Path, tmp_path: Path) -> None:
    """Its plugins folder has the plugin, and so has the installed distribution."""
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__LAZY_DISCOVER_PROVIDERS": "False",
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(project / "plugins"),
    }
    names, errors = json.loads(last_line(LOAD, environment=environment))
    assert names.count("bms") == 1
    assert [each for each in errors if "bms" in each] == []


def test_the_entry_point_names_the_plugin() -> None:
    from bms_provider.plugin import BmsPlugin

    [entry] = importlib.metadata.entry_points(group="airflow.plugins", name="bms")
    assert entry.load() is BmsPlugin


def test_messages_link_to_the_address_at_which_airflow_mounts_the_board() -> None:
    assert addresses.BOARD == BOARD
