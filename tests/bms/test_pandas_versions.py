"""The operations on DataFrames with every supported minor version of pandas."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

pytestmark = [pytest.mark.prove, pytest.mark.timeout(1800)]

MINORS = ("2.3", "3.0", "3.1")
UV = Path(sys.executable).with_name("uv")
TESTS = ("tests/bms/test_frames.py", "tests/bms/test_dataframes.py")


@pytest.mark.parametrize("minor", MINORS)
def test_every_operation_works(
    minor: str, project: Path, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    constraints, python = tmp_path / "constraints.txt", tmp_path / "venv/bin/python"
    lock = (project / "requirements.lock").read_text()
    pins = re.sub(r"^pandas==.*(?:\n    .*)*", f"pandas=={minor}.*", lock, flags=re.MULTILINE)
    constraints.write_text(pins)
    subprocess.run(  # noqa: S603 - ours
        [UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True
    )
    install: list[str | Path] = [UV, "pip", "install", "--quiet", "--python", python]
    requirements: list[str | Path] = ["-r", "requirements.txt", "--constraints", constraints]
    subprocess.run([*install, *requirements], cwd=project, check=True)  # noqa: S603 - ours
    # nlargest and rank of pandas before 3.1 pass an option that pyarrow deprecates.
    allowed = ["-W", "ignore::FutureWarning"] if minor in ("2.3", "3.0") else []
    done = subprocess.run(  # noqa: S603 - ours
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *allowed, *TESTS],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    shown = "import pandas; print(pandas.__version__)"
    version = subprocess.check_output([python, "-c", shown], text=True).strip()  # noqa: S603 - ours
    assert version.startswith(f"{minor}.")
    figure(f"pandas {version}: {done.stdout.splitlines()[-1]}")


def test_no_supported_version_is_left_out(project: Path) -> None:
    declared = tomllib.loads((project / "pyproject.toml").read_text())["project"]["dependencies"]
    (pandas,) = (each for each in map(Requirement, declared) if each.name == "pandas")
    assert str(pandas.specifier) == f">={MINORS[0]}"
    [locked] = re.findall(
        r"^pandas==(\S+)", (project / "requirements.lock").read_text(), re.MULTILINE
    )
    assert ".".join(map(str, Version(locked).release[:2])) == MINORS[-1]
