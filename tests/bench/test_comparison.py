import pytest

from bench.comparison import PEERS
from bench.comparison_report import Peer
from tests.support.measurement import PROJECT


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_has_a_script_and_locked_packages(peer: Peer) -> None:
    assert (PROJECT / f"bench/peers/{peer.script}.py").exists()
    assert peer.lock.exists()
