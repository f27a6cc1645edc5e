"""The command `bms dags` and the files that it writes."""

import importlib.metadata
import json
from pathlib import Path

import pytest

from bms_cli.app import main
from bms_flows.catalog import FLOWS


def test_a_file_for_each_dag_is_written_and_written_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bundle" / "bms"
    for _ in range(2):
        assert main(["dags", "--write", str(folder), "--json"]) == 0
        written = json.loads(capsys.readouterr().out)["files"]
        assert written == [str(folder / f"{name}.py") for name in FLOWS]
    assert sorted(folder.iterdir()) == sorted(Path(each) for each in written)
    for file in folder.iterdir():
        text = file.read_text().lower()
        assert "airflow" in text  # Airflow skips a file without these words
        assert "dag" in text


def test_a_foreign_file_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "retention.py").write_text("mine")
    assert main(["dags", "--write", str(tmp_path)]) == 1
    assert "retention.py" in capsys.readouterr().err
    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"]


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "file" / "bms"
    folder.parent.write_text("no folder")
    assert main(["dags", "--write", str(folder)]) == 1
    shown = " ".join(capsys.readouterr().err.split())
    assert "Not a directory. Choose a folder that this user may write" in shown


def test_without_a_folder_the_dags_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dags"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "invoice_extraction: Client invoices"


def test_the_version_is_the_distribution_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == importlib.metadata.version("bms-airflow")
