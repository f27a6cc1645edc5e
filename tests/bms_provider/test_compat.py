"""The versions of Airflow that are refused, and where the supported ones are named."""

import importlib.metadata
import importlib.util
import tomllib
from pathlib import Path

import airflow
import pytest
from packaging.requirements import Requirement

from bms_provider import compat


@pytest.mark.parametrize("version", ["3.1.8", "2.11.2"])
def test_an_older_airflow_is_refused_with_a_sentence(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(airflow, "__version__", version)
    spec = importlib.util.spec_from_file_location("compat_of_another_airflow", compat.__file__)
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
