"""An environment made from requirements.txt alone, as the development image makes it, with the checkout's code beside it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.compose import PROJECT

pytestmark = [pytest.mark.prove, pytest.mark.timeout(1800)]

UV = Path(sys.executable).with_name("uv")
STAGE = (PROJECT / "Dockerfile").read_text().partition("\nFROM base AS dev\n")[2]
LOAD = """
import json, sys
from airflow.dag_processing.dagbag import DagBag
from airflow.plugins_manager import _get_plugins
from airflow.providers_manager import ProvidersManager
import bms_provider

bag = DagBag(sys.argv[1])
plugins, errors = _get_plugins()
print(json.dumps({
    "dags": sorted(bag.dags),
    "errors": {**bag.import_errors, **errors},
    "plugins": [each.name for each in plugins].count("bms"),
    "connection": "bms" in ProvidersManager().hooks,
    "code": bms_provider.__file__,
}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Airflow finds in the environment, whose packages the command of the development image installs."""
    home = tmp_path_factory.mktemp("airflow")
    venv = home / "venv"
    copied, command = STAGE.partition("COPY pyproject.toml")[2].split("\nRUN ", 1)
    for name in ["pyproject.toml", *copied.split()[:-1]]:
        shutil.copy(PROJECT / name, home)
    command = command.partition("\nENV ")[0].replace("--no-cache --compile-bytecode ", "")
    command = command.replace("/opt/uv/bin/uv", str(UV)).replace("/opt/venv", str(venv))
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, venv], check=True)  # noqa: S603 - ours
    subprocess.run(command, cwd=home, shell=True, check=True, capture_output=True)  # noqa: S602 - ours
    for name in ("dags", "include", "plugins"):  # what Compose mounts
        (home / name).rmdir()
        (home / name).symlink_to(PROJECT / name)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "BMS_", "PYTHON"))}
    done = subprocess.run(  # noqa: S603 - ours
        [venv / "bin/python", "-c", LOAD, home / "dags"],
        env={**clean, "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {**json.loads(done.stdout.splitlines()[-1]), "home": str(home)}


def test_every_dag_is_imported(found: dict[str, Any]) -> None:
    assert found["errors"] == {}
    assert found["dags"] == sorted(file.stem for file in (PROJECT / "dags").glob("*.py"))


def test_the_mounted_code_is_what_runs_and_the_plugin_loads_once(found: dict[str, Any]) -> None:
    assert found["code"] == f"{found['home']}/plugins/bms_provider/__init__.py"
    assert found["plugins"] == 1
    assert found["connection"]
