"""The extra `flows`: its declaration, and a base installation, in which its packages are missing."""

import json
import os
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bms_flows import extra
from tests.support.interpreter import last_line

MISSING = ("holidays", "openpyxl", "phonenumbers", "psycopg")
"""What a base installation lacks: the other packages of the extra come with Airflow."""

BASE = """
import asyncio, importlib, json, pkgutil, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None  # as if it were not installed
import bms, bms_provider.hooks, bms_provider.operators, bms_provider.triggers

def below(package):
    return [each.name for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")]

for package in (bms, bms_provider.hooks, bms_provider.operators, bms_provider.triggers):
    for name in below(package):
        importlib.import_module(name)
for name in ("assets", "files", "lineage", "policy", "plugin", "board.task_files"):
    importlib.import_module(f"bms_provider.{name}")

def error(function, *arguments, **given):
    try:
        function(*arguments, **given)
    except ImportError as found:
        return str(found)

sent = []
async def send(message):
    sent.append(message)

from bms_cli import __main__ as command
from bms_provider import plugin, policy
from bms_provider.operators.contacts import BmsListContactsOperator
from bms_provider.operators.flows.loads import BmsSyncOperator
from bms_provider.triggers.inbox import InboxTrigger

BmsListContactsOperator(task_id="contacts", filter="ACTIVE")
asyncio.run(plugin.board({"type": "http", "method": "GET", "path": "/", "headers": []}, None, send))
sys.stderr = sys.stdout
status = command.main()
print(json.dumps({
    "files": InboxTrigger(["contacts"], sys.argv[2])._files(),
    "operator": error(BmsSyncOperator, task_id="sync", resource="contact"),
    "callback": error(policy.notify_failure, {}),
    "board": [sent[0]["status"], sent[1]["body"].decode()],
    "command": status,
}))
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What hook, operators, trigger, plugin and command do in a base installation."""
    root = tmp_path_factory.mktemp("data")
    (root / "inbox/contacts").mkdir(parents=True)
    (root / "inbox/contacts/new.csv").write_text("first_name\n")
    environment = {**os.environ, "AIRFLOW_HOME": str(root)}
    line = last_line(BASE, json.dumps(MISSING), f"file://{root}", environment=environment)
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_base_installation_has_hook_operators_and_triggers(base: dict[str, Any]) -> None:
    assert [*base["files"]] == ["contacts/new.csv"]


def test_the_rest_of_a_base_installation_names_the_extra(base: dict[str, Any]) -> None:
    sentence = str(extra.MissingExtra())
    assert "pip install 'bms-airflow[flows]'" in sentence
    assert base["operator"] == base["callback"] == sentence
    assert base["board"] == [503, f"{sentence}\n"]
    assert base["command"] == 2


@pytest.fixture(scope="module")
def declared(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    return found


@pytest.mark.bookkeeping
def test_the_extra_is_found_by_the_modules_of_its_packages(declared: dict[str, Any]) -> None:
    names = {Requirement(each).name for each in declared["optional-dependencies"]["flows"]}
    packages = {name for name in names if not name.startswith("apache-airflow-providers-")}
    providing = packages_distributions()
    assert {canonicalize_name(each) for m in extra.MODULES for each in providing[m]} == packages


@pytest.mark.bookkeeping
def test_the_base_installation_has_at_most_8_direct_dependencies(declared: dict[str, Any]) -> None:
    assert len(declared["dependencies"]) <= 8
    assert {*declared["optional-dependencies"]} == {"flows", "s3", "celery", "kubernetes", "otel"}
