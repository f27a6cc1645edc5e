"""A channel for notices that a test can read and take down."""

import pytest

from bms_flows.runtime.notice import NotDelivered, Notice


class Channel:
    """Accepts notices unless it is down."""

    def __init__(self) -> None:
        self.taken: list[Notice] = []
        self.down = False

    def __call__(self, notice: Notice) -> None:
        if self.down:
            raise NotDelivered("bms_webhook: responded with 503")
        self.taken.append(notice)

    @property
    def titles(self) -> list[str]:
        return [notice.title for notice in self.taken]


@pytest.fixture
def channel() -> Channel:
    return Channel()
