"""Entry point of `python -m stack`."""

import sys

from stack.signals import SignalHandler

signals = SignalHandler()
signals.install()

from stack.cli import main  # noqa: E402 - importing takes half a second, in which a signal may arrive

sys.exit(main(signals))
