import json
import os
import stat
from dataclasses import asdict
from pathlib import Path

import pytest

from stack.paths import StackPaths, read_json_cache, write_private_json


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def paths(tmp_path: Path) -> StackPaths:
    found = StackPaths(tmp_path, tmp_path / ".local")
    found.prepare()
    return found


def test_folders_of_secrets_logs_and_rows_are_private(paths: StackPaths) -> None:
    assert [mode(path) for path in (paths.secrets, paths.logs, paths.airflow_home, paths.data)] == [
        0o700
    ] * 4


def test_existing_folders_become_private(paths: StackPaths) -> None:
    paths.secrets.chmod(0o755)
    paths.prepare()
    assert mode(paths.secrets) == 0o700


def test_others_can_enter_the_local_folder_but_not_list_it(paths: StackPaths) -> None:
    assert mode(paths.local) == 0o711


def test_an_existing_local_folder_becomes_unlistable(paths: StackPaths) -> None:
    paths.local.chmod(0o755)
    paths.prepare()
    assert mode(paths.local) == 0o711


def test_a_shared_folder_keeps_its_mode(tmp_path: Path) -> None:
    """`BMS_LOCAL_DIR` may name a folder that others use too."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    StackPaths(tmp_path, shared).prepare()
    assert mode(shared) == 0o777


def test_secrets_are_generated_once_and_saved_privately(paths: StackPaths) -> None:
    secrets = paths.load_secrets()
    assert paths.load_secrets() == secrets
    assert mode(paths.secrets / "keys.json") == 0o600
    assert len(set(asdict(secrets).values())) == 6


def test_secrets_of_another_checkout_differ(tmp_path: Path, paths: StackPaths) -> None:
    other = StackPaths(tmp_path, tmp_path / "other")
    other.prepare()
    assert other.load_secrets().password != paths.load_secrets().password
    assert other.process_tag != paths.process_tag


def test_a_missing_secret_is_generated_without_changing_the_others(paths: StackPaths) -> None:
    secrets = paths.load_secrets()
    path = paths.secrets / "keys.json"
    write_private_json(path, {k: v for k, v in json.loads(path.read_text()).items() if k != "jwt"})
    assert paths.load_secrets().password == secrets.password
    assert paths.load_secrets().jwt != secrets.jwt


def test_private_file_is_replaced_atomically_with_mode_0600(tmp_path: Path) -> None:
    path = tmp_path / "stack.json"
    path.write_text("old")
    path.chmod(0o644)
    umask = os.umask(0)
    try:
        write_private_json(path, {"url": "new"})
    finally:
        os.umask(umask)
    assert (json.loads(path.read_text()), mode(path)) == ({"url": "new"}, 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "stack.json"
    write_private_json(path, {"url": "old"})
    with pytest.raises(TypeError):
        write_private_json(path, {"url": object()})
    assert json.loads(path.read_text()) == {"url": "old"}
    write_private_json(path, {"url": "new"})
    assert json.loads(path.read_text()) == {"url": "new"}


@pytest.mark.parametrize("content", ["", "{", "[1]"])
def test_unreadable_cache_is_empty(content: str, tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    path.write_text(content)
    assert read_json_cache(path) == {}
    assert read_json_cache(tmp_path / "none") == {}


def test_bms_local_dir_moves_the_files(tmp_path: Path) -> None:
    assert StackPaths.from_environ({"BMS_LOCAL_DIR": str(tmp_path)}).local == tmp_path
    assert StackPaths.from_environ({}, tmp_path).local == tmp_path / ".local"
