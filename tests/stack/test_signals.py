import os
import pty
import signal
from collections.abc import Iterator

import pytest

from stack.signals import InterruptedBySignal, SignalHandler

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def restored_handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the test run may be under nohup
    yield
    for number, previous in before.items():
        signal.signal(number, previous)


@pytest.mark.parametrize(("number", "code"), [*zip(SIGNALS, (130, 143, 129), strict=True)])
def test_signal_is_raised_by_the_next_pause_with_its_exit_code(number: int, code: int) -> None:
    handler = SignalHandler()
    handler.install()
    os.kill(os.getpid(), number)  # raises nothing here
    with pytest.raises(InterruptedBySignal) as caught:
        handler.pause()
    assert caught.value.exit_code == code


def test_later_signals_are_ignored() -> None:
    handler = SignalHandler()
    handler.install()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGINT):
        os.kill(os.getpid(), number)
    with pytest.raises(InterruptedBySignal) as caught:
        handler.check()
    assert caught.value.exit_code == 143


def test_sighup_stays_ignored_under_nohup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    handler = SignalHandler()
    handler.install()
    os.kill(os.getpid(), signal.SIGHUP)
    handler.check()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_lost_terminal_counts_as_sighup() -> None:
    other_end, terminal = pty.openpty()
    handler = SignalHandler()
    handler.watch(terminal)
    handler.check()
    os.close(other_end)
    with pytest.raises(InterruptedBySignal) as caught:
        handler.check()
    os.close(terminal)
    assert caught.value.exit_code == 129
