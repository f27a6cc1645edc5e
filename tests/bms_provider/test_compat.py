"""The versions of Airflow that are refused, and where the supported ones are named."""

import importlib.metadata
import importlib.util
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import airflow
import pytest
from packaging.requirements import Requirement

import bms_provider
from bms_provider import compat, operators


@pytest.mark.parametrize("version", ["3.1.8", "2.11.2"])
@pytest.mark.parametrize("module", [compat, operators])
def test_an_older_airflow_is_refused_with_a_sentence(
    module: ModuleType, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(airflow, "__version__", version)
    monkeypatch.delitem(sys.modules, compat.__name__)
    monkeypatch.delattr(bms_provider, "compat")
    spec = importlib.util.spec_from_file_location("module_of_another_airflow", module.__file__)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(
        ImportError, match=rf"requires Airflow 3\.2 or 3\.3, and this is.*{version}"
    ):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_the_range_of_the_distribution_starts_with_the_oldest_version(project: Path) -> None:
    text = (project / "pyproject.toml").read_text()
    wanted = Requirement(tomllib.loads(text)["project"]["dependencies"][0])
    oldest = ".".join(map(str, compat.OLDEST))
    assert not wanted.specifier.contains("3.1.8")
    assert wanted.specifier.contains(f"{oldest}.2")
    assert wanted.specifier.contains(importlib.metadata.version("apache-airflow-core"))


def test_operators_and_dags_have_a_retry_policy_here() -> None:
    assert compat.HAS_RETRY_POLICIES
    assert compat.retry_arguments(None) == {"retry_policy": None}
