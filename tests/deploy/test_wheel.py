"""What a deployment installs: the wheel's files, its DAGs, and the constraints."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import bms_provider
from bms_cli import dag_files
from tests.deploy.compose import PROJECT

SOURCES = {
    "include/bms/": "bms/",
    "include/bms_cli/": "bms_cli/",
    "include/bms_flows/": "bms_flows/",
    "include/bms_warehouse/": "bms_warehouse/",
    "plugins/bms_airflow/": "bms_airflow/",
    "plugins/bms_provider/": "bms_provider/",
    "dags/": "bms_provider/dags/",
}
"""Folders of the checkout, with their place in the wheel. The sandbox is not among them."""


@pytest.fixture(scope="module")
def wheel(dist: Path) -> zipfile.ZipFile:
    (built,) = dist.glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_holds_every_file_of_its_packages_and_no_other(wheel: zipfile.ZipFile) -> None:
    """Also migrations, templates, static files and the production DAGs."""
    listed = subprocess.run(  # noqa: S603 - constants
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *SOURCES],  # noqa: S607 - the git that made the clone
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    expected = {
        to + name.removeprefix(source)
        for name in listed
        for source, to in SOURCES.items()
        if name.startswith(source) and (PROJECT / name).exists()
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == expected
    for needed in (
        "bms_warehouse/migrations/versions/0001_baseline.sql",
        "bms_provider/board/templates/overview.html",
        "bms_provider/board/static/board.css",
        "bms_provider/example_dags/example_bms_hook.py",
        "bms_provider/dags/invoice_extraction.py",
        "bms_provider/py.typed",  # without it, a type checker sees operators and hook as Any
        "bms/py.typed",
    ):
        assert needed in expected
    migration = wheel.read("bms_warehouse/migrations/versions/0001_baseline.sql")
    assert b"comment on column" in migration.lower()


def test_the_wheel_names_provider_plugin_command_and_licence(wheel: zipfile.ZipFile) -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    folder = f"bms_airflow-{version}.dist-info"
    entries = wheel.read(f"{folder}/entry_points.txt").decode()
    for group in ("[apache_airflow_provider]", "[airflow.plugins]", "[console_scripts]"):
        assert group in entries
    assert f"{folder}/licenses/LICENSE" in wheel.namelist()


def test_the_constraints_pin_every_package_of_the_lock_without_hashes(dist: Path) -> None:
    lock = (PROJECT / "requirements.lock").read_text()
    pinned = re.findall(r"^([\w.-]+==[^\s\\]+)", lock, re.MULTILINE)
    lines = (dist / "constraints.txt").read_text().splitlines()
    assert [line.split()[0] for line in lines] == pinned
    assert not [line for line in lines if "hash" in line or line.endswith("\\")]


def test_airflow_finds_every_dag_in_the_files_that_import_them_from_the_wheel(
    wheel: zipfile.ZipFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The modules `bms_provider.dags` exist in the wheel only."""
    from airflow.dag_processing.dagbag import DagBag

    wheel.extractall(tmp_path / "site")
    extended = [*bms_provider.__path__, str(tmp_path / "site/bms_provider")]
    monkeypatch.setattr(bms_provider, "__path__", extended)
    files = dag_files.write_files(tmp_path / "bundle")
    try:
        bag = DagBag(str(tmp_path / "bundle"))
        assert bag.import_errors == {}
        found = {name: dag.fileloc for name, dag in bag.dags.items()}
        assert found == {file.stem: str(file) for file in files}
        loaded = sys.modules["bms_provider.dags.invoice_extraction"].__file__
        assert loaded == str(tmp_path / "site/bms_provider/dags/invoice_extraction.py")
    finally:
        for name in [each for each in sys.modules if each.startswith("bms_provider.dags")]:
            del sys.modules[name]
