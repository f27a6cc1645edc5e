import os
import pty
import signal
from collections.abc import Iterator

import pytest

from stack.interruption import InterruptedBySignal, Interruption

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the suite itself may run under nohup
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [*zip(SIGNALS, (130, 143, 129), strict=True)])
def test_signal_is_raised_at_the_next_look_with_its_exit_code(number: int, code: int) -> None:
    interruption = Interruption()
    interruption.install()
    os.kill(os.getpid(), number)  # nothing is raised here, where anything may be half done
    with pytest.raises(InterruptedBySignal) as caught:
        interruption.pause()
    assert caught.value.exit_code == code


def test_first_signal_decides_and_later_ones_change_nothing() -> None:
    interruption = Interruption()
    interruption.install()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGINT):
        os.kill(os.getpid(), number)
    with pytest.raises(InterruptedBySignal) as caught:
        interruption.check()
    assert caught.value.exit_code == 143


def test_hang_up_stays_ignored_under_nohup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interruption = Interruption()
    interruption.install()
    os.kill(os.getpid(), signal.SIGHUP)
    interruption.check()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_lost_terminal_is_a_hang_up_even_when_no_signal_comes() -> None:
    ours, terminal = pty.openpty()
    interruption = Interruption()
    interruption.watch(terminal)
    interruption.check()
    os.close(ours)
    with pytest.raises(InterruptedBySignal) as caught:
        interruption.check()
    os.close(terminal)
    assert caught.value.exit_code == 129
