"""scripts/secrets generates each random secret of Compose once."""

import stat
from pathlib import Path

from cryptography.fernet import Fernet

from tests.deploy.compose import draw_secrets


def test_the_file_is_private_to_its_owner(tmp_path: Path) -> None:
    draw_secrets(tmp_path)
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600


def test_two_checkouts_share_no_secret(tmp_path: Path) -> None:
    one, other = (set(draw_secrets(tmp_path / name).splitlines()) for name in ("one", "other"))
    assert not one & other


def test_a_second_run_adds_only_missing_values(tmp_path: Path) -> None:
    first = draw_secrets(tmp_path)
    assert draw_secrets(tmp_path) == first
    kept = [line for line in first.splitlines() if not line.startswith("REDIS_PASSWORD=")]
    (tmp_path / ".env").write_text("\n".join([*kept, "BMS_LANGUAGE=EN", ""]))
    again = draw_secrets(tmp_path).splitlines()
    assert again[: len(kept) + 1] == [*kept, "BMS_LANGUAGE=EN"]
    assert again[-1].startswith("REDIS_PASSWORD=")


def test_a_last_line_without_its_end_stays_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("BMS_LANGUAGE=EN")
    drawn = draw_secrets(tmp_path).splitlines()
    assert drawn[0] == "BMS_LANGUAGE=EN"
    assert drawn[1].startswith("AIRFLOW_ADMIN_PASSWORD=")


def test_every_secret_is_long_and_the_key_is_a_fernet_key(drawn: dict[str, str]) -> None:
    assert min(map(len, drawn.values())) >= 32
    Fernet(drawn["AIRFLOW_FERNET_KEY"])
    assert drawn["BMS_WAREHOUSE_PASSWORD"] in drawn["AIRFLOW_CONN_BMS_WAREHOUSE"]
