"""Signals that end the launcher: noticed at any moment, acted upon where it is safe."""

import os
import select
import signal
import time
from types import FrameType

PAUSE = 0.05


class InterruptedBySignal(BaseException):
    """The user, the system or a lost terminal asked the launcher to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


class Interruption:
    """Remembers the first signal; every wait of the launcher passes through `pause`, which raises.

    A handler that raised by itself could fall between the start of a process and the note of it.
    Further signals change nothing, so that impatience cannot break the cleanup.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._terminal: select.poll | None = None

    def install(self) -> None:
        """Take over Ctrl-C, SIGTERM and hang-up (unless started under nohup)."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._notice)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._notice)
            for descriptor in filter(os.isatty, (0, 1, 2)):
                self.watch(descriptor)

    def watch(self, terminal: int) -> None:
        """Take the loss of a terminal for a hang-up.

        The system tells the terminal's first process alone, and where that is make, it keeps the
        signal to itself and waits.
        """
        self._terminal = self._terminal or select.poll()
        self._terminal.register(terminal, 0)  # a hang-up is reported whatever is asked for

    def _notice(self, number: int, _frame: FrameType | None) -> None:
        if self.number is None:
            self.number = number

    def check(self) -> None:
        """Raise InterruptedBySignal when a signal came."""
        if self.number is None and self._terminal is not None:
            lost = any(event & select.POLLHUP for _, event in self._terminal.poll(0))
            self.number = signal.SIGHUP if lost else None
        if self.number is not None:
            raise InterruptedBySignal(self.number)

    def pause(self) -> None:
        """Let a moment pass between two looks at a condition."""
        self.check()
        time.sleep(PAUSE)
        self.check()
