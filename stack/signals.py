"""Handling of the signals, and of a lost terminal, that end the launcher."""

import os
import select
import signal
import time
from types import FrameType

POLL_INTERVAL = 0.05


class InterruptedBySignal(BaseException):
    """A signal asked the launcher to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"Interrupted by {signal.Signals(number).name}.")
        self.exit_code = 128 + number


class SignalHandler:
    """A recorder of the first signal; `pause`, which every wait loop calls, raises it.

    Raising inside the signal handler could lose a process between its start and its registration.
    Later signals are ignored, so that a second Ctrl-C cannot interrupt the cleanup.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._terminals: select.poll | None = None

    def install(self) -> None:
        """Handle SIGINT, SIGTERM and, unless started under nohup, SIGHUP."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._record)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._record)
            for descriptor in filter(os.isatty, (0, 1, 2)):
                self.watch(descriptor)

    def watch(self, terminal: int) -> None:
        """Treat the loss of a terminal as SIGHUP.

        The kernel sends SIGHUP only to the session leader; make, as the leader, does not pass it on.
        """
        self._terminals = self._terminals or select.poll()
        self._terminals.register(terminal, 0)  # POLLHUP is reported whatever the mask

    def _record(self, number: int, _frame: FrameType | None) -> None:
        if self.number is None:
            self.number = number

    def check(self) -> None:
        """Raise InterruptedBySignal if a signal arrived or a watched terminal was lost."""
        if self.number is None and self._terminals is not None:
            lost = any(event & select.POLLHUP for _, event in self._terminals.poll(0))
            self.number = signal.SIGHUP if lost else None
        if self.number is not None:
            raise InterruptedBySignal(self.number)

    def pause(self) -> None:
        """Sleep for one poll interval; raise InterruptedBySignal as `check` does."""
        self.check()
        time.sleep(POLL_INTERVAL)
        self.check()
