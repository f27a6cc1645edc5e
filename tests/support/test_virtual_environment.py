from pathlib import Path

import pytest

from tests.support.measurement import PROJECT
from tests.support.virtual_environment import versions_of

LOCKS = sorted(PROJECT.glob("*/**/requirements/*.lock"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_package_of_a_lock_has_one_exact_version_and_hashes(lock: Path) -> None:
    entries = lock.read_text().replace("\\\n", "").splitlines()
    assert entries
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)


def test_versions_are_those_of_the_requested_packages() -> None:
    lock = PROJECT / "bench/peers/requirements/pandas.lock"
    assert set(versions_of(lock)) == {"pandas", "psycopg2-binary", "requests", "sqlalchemy"}
