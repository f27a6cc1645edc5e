import pytest

from bench.comparison import PEERS
from bench.comparison_report import Peer
from bench.peers.environment import HERE, versions_of


@pytest.mark.parametrize("name", sorted({peer.environment for peer in PEERS} | {"schemathesis"}))
def test_every_package_of_a_lock_has_one_exact_version_and_hashes(name: str) -> None:
    entries = (HERE / "requirements" / f"{name}.lock").read_text().replace("\\\n", "").splitlines()
    assert entries
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)


def test_the_versions_told_are_those_of_the_packages_asked_for() -> None:
    assert set(versions_of("pandas")) == {"pandas", "psycopg2-binary", "requests", "sqlalchemy"}


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_has_its_script(peer: Peer) -> None:
    assert (HERE / f"{peer.script}.py").exists()
