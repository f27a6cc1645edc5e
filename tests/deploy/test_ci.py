"""The hosted CI and the commit hooks: their schema, and what they run."""

import os
import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest
import yaml

from tests.deploy.compose import PRODUCTION, PROJECT

pytestmark = pytest.mark.bookkeeping

WORKFLOW = PROJECT / ".github/workflows/ci.yml"
HOOKS = PROJECT / ".pre-commit-config.yaml"
JOBS: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text())["jobs"]


def test_the_workflow_fits_the_schema_of_the_hosted_runner() -> None:
    check = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.github-workflows",
    ]
    done = subprocess.run([*check, WORKFLOW], capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert done.returncode == 0, done.stdout


def test_every_supported_python_is_tested() -> None:
    text = (PROJECT / "pyproject.toml").read_text()
    (first, after) = re.findall(r"3\.(\d+)", tomllib.loads(text)["project"]["requires-python"])
    supported = [f"3.{minor}" for minor in range(int(first), int(after))]
    assert JOBS["test"]["strategy"]["matrix"]["python"] == supported


def test_the_commands_of_jobs_and_hooks_exist() -> None:
    targets = re.findall(r"^(\w+):", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    text = WORKFLOW.read_text() + HOOKS.read_text()
    assert {*re.findall(r"\bmake (\w+)", text)} <= {*targets}
    for script in re.findall(r"(?:\bscripts|\.ci)/\w+", text):
        assert (PROJECT / script).exists()
    cells = re.findall(r'Cell\("([\w.-]+)"', (PROJECT / "scripts/matrix").read_text())
    included = JOBS["compatibility"]["strategy"]["matrix"]["include"]
    assert {each["cell"] for each in included} <= {*cells}


def test_both_variants_of_compose_are_built_and_started() -> None:
    job = JOBS["compose"]
    assert job["env"]["COMPOSE_FILE"] == "${{ matrix.files }}"
    assert job["strategy"]["matrix"]["files"] == [PRODUCTION[0], ":".join(PRODUCTION)]
    commands = [step.get("run", "") for step in job["steps"]]
    (start,) = (each for each in commands if "docker compose up" in each)
    assert {"--build", "--detach", "--wait"} <= {*start.split()}


def test_the_hooks_use_the_locked_tools_and_no_network() -> None:
    (repository,) = yaml.safe_load(HOOKS.read_text())["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")


def test_the_processes_of_a_command_share_compiled_modules() -> None:
    """Otherwise each of the suite's Airflow processes compiles Airflow, seconds of work each."""
    code = "import sys; print(sys.dont_write_bytecode, sys.pycache_prefix)"
    rule = f"--eval=shown: ; @'{sys.executable}' -c '{code}'"
    done = subprocess.run(  # noqa: S603 - our own rule
        ["make", "--no-print-directory", rule, "shown"],  # noqa: S607 - the README's command
        cwd=PROJECT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", str(PROJECT / ".local" / "compiled")]
