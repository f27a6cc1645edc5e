import json
import os
import stat
from pathlib import Path

import pytest

from stack.place import Place, read_kept, write_private


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path, tmp_path / ".local")
    found.prepare()
    return found


def test_folders_of_secrets_logs_and_rows_are_their_owners_alone(place: Place) -> None:
    assert [mode(path) for path in (place.secrets, place.logs, place.airflow_home, place.data)] == [
        0o700
    ] * 4


def test_open_folders_of_an_earlier_start_are_closed(place: Place) -> None:
    place.secrets.chmod(0o755)
    place.prepare()
    assert mode(place.secrets) == 0o700


def test_keys_are_drawn_once_and_kept_privately(place: Place) -> None:
    keys = place.keys()
    assert place.keys() == keys
    assert mode(place.secrets / "keys.json") == 0o600
    assert len({keys.password, keys.fernet, keys.jwt, keys.api, keys.sandbox_secret}) == 5


def test_keys_of_another_checkout_differ(tmp_path: Path, place: Place) -> None:
    other = Place(tmp_path, tmp_path / "other")
    other.prepare()
    assert other.keys().password != place.keys().password
    assert other.mark != place.mark


def test_a_key_added_later_leaves_the_others_as_they_are(place: Place) -> None:
    keys = place.keys()
    path = place.secrets / "keys.json"
    write_private(path, {k: v for k, v in json.loads(path.read_text()).items() if k != "jwt"})
    assert place.keys().password == keys.password
    assert place.keys().jwt != keys.jwt


def test_private_file_is_replaced_whole_and_private_from_its_first_byte(tmp_path: Path) -> None:
    path = tmp_path / "stack.json"
    path.write_text("old")
    path.chmod(0o644)
    umask = os.umask(0)
    try:
        write_private(path, {"url": "new"})
    finally:
        os.umask(umask)
    assert (json.loads(path.read_text()), mode(path)) == ({"url": "new"}, 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "stack.json"
    write_private(path, {"url": "old"})
    with pytest.raises(TypeError):
        write_private(path, {"url": object()})
    assert json.loads(path.read_text()) == {"url": "old"}
    write_private(path, {"url": "new"})
    assert json.loads(path.read_text()) == {"url": "new"}


@pytest.mark.parametrize("content", ["", "{", "[1]"])
def test_unreadable_measurements_are_measured_again(content: str, tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    path.write_text(content)
    assert read_kept(path) == {}
    assert read_kept(tmp_path / "none") == {}


def test_local_files_move_where_the_environment_says(tmp_path: Path) -> None:
    assert Place.of({"BMS_LOCAL_DIR": str(tmp_path)}).local == tmp_path
    assert Place.of({}, tmp_path).local == tmp_path / ".local"
