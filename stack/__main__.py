"""`python -m stack demo` and `python -m stack up`, the commands behind the Makefile's verbs."""

import sys

from stack.interruption import Interruption

interruption = Interruption()
interruption.install()

from stack.commands import main  # noqa: E402 - takes half a second, in which a signal may come

sys.exit(main(interruption))
