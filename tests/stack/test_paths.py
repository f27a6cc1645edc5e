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


def test_folders_are_private_and_others_can_only_enter_the_local_folder(paths: StackPaths) -> None:
    """Also if they existed before, with another mode."""
    private = (paths.secrets, paths.logs, paths.airflow_home, paths.data)
    for _ in range(2):
        assert {mode(path) for path in private} == {0o700}
        assert mode(paths.local) == 0o711
        for path in (*private, paths.local):
            path.chmod(0o755)
        paths.prepare()


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
