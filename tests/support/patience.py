"""Times for tests on a machine whose cores are all taken."""

from collections.abc import Iterator

LONG_S = 900
"""A process that starts, ends or responds does so within this time, or never."""


def ever_longer(first: float) -> Iterator[float]:
    """Yield `first` and much longer times: a busy machine needs one of them for what must happen within."""
    return (first * 8**n for n in range(4))
