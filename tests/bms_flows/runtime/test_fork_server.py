"""Calls in child processes: their limits, errors and deaths, and the server's own death."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from bms_flows.runtime.fork_server import (
    CallFailed,
    CallLimits,
    ForkServer,
    LimitExceeded,
    ServerBusy,
)

if "SLOW_IMPORT" in os.environ:
    time.sleep(2.5)

LIMITS = CallLimits(memory=64 << 20, cpu_s=1, wall_s=2, calls=2)


def act(request: bytes) -> bytes:
    """Do what a request names."""
    match request:
        case b"memory":
            return bytes(1 << 30)
        case b"cpu":
            while True:
                pass
        case b"sleep":
            time.sleep(60)
        case b"die":
            os.kill(os.getpid(), signal.SIGKILL)
        case b"error":
            raise ValueError("Zoé Dupont")
    return request[::-1]


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    """A server of `act`."""
    made = ForkServer(f"{__name__}:act", LIMITS)
    yield made
    made.close()


def test_a_call_returns_the_response(server: ForkServer) -> None:
    assert server.call(b"abc") == b"cba"
    large = os.urandom(5_000_000)
    assert server.call(large) == large[::-1]


def test_the_start_of_the_server_does_not_count_as_time_of_a_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLOW_IMPORT", "1")
    server = ForkServer(f"{__name__}:act", LIMITS)
    try:
        assert server.call(b"abc") == b"cba"
    finally:
        server.close()


@pytest.mark.parametrize("request_", [b"memory", b"cpu", b"sleep", b"die"])
def test_a_child_beyond_its_limits_ends_alone(server: ForkServer, request_: bytes) -> None:
    began = time.monotonic()
    with pytest.raises(LimitExceeded):
        server.call(request_)
    assert time.monotonic() - began < 20
    assert server.call(b"abc") == b"cba"


def test_an_error_has_no_text(server: ForkServer) -> None:
    with pytest.raises(CallFailed, match=r"ValueError at .*test_fork_server.py") as failed:
        server.call(b"error")
    assert "Dupont" not in str(failed.value)


def test_a_server_that_died_is_started_again(server: ForkServer) -> None:
    server.start()
    process = server._process
    assert process
    process.kill()
    process.wait()
    assert server.call(b"abc") == b"cba"


def test_a_call_beyond_the_number_of_children_waits_and_is_refused(server: ForkServer) -> None:
    calls = [threading.Thread(target=_ignored, args=(server,)) for _ in range(LIMITS.calls)]
    for each in calls:
        each.start()
    time.sleep(0.3)
    began = time.monotonic()
    try:
        assert server.call(b"abc") == b"cba"  # a place became free
    except ServerBusy:
        assert time.monotonic() - began >= LIMITS.wall_s
    for each in calls:
        each.join()


def _ignored(server: ForkServer) -> None:
    with pytest.raises(LimitExceeded):
        server.call(b"sleep")
