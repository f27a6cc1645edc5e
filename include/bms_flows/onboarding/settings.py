"""The settings of creating: how long to settle, how often to send, when a person is asked."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, Literal

from bms_flows.runtime.settings import MAX_DIGITS, FlowSettings, InvalidSetting

Approval = Literal["always", "never"] | int


@dataclass(frozen=True, kw_only=True)
class OnboardingSettings(FlowSettings):
    """What the creation of records may be told, beside what all flows are."""

    approval: Approval = 20
    """When approval is required before creating: `always`, `never`, or above this many rows of a resource and day."""
    approval_hours: float = 72
    """Hours that an answer is waited for; then it counts as a no, which can be changed later."""
    settle_s: float = 30
    """Seconds until a created record surely shows in the service's lists."""
    create_attempts: int = 5
    """POSTs for one row at most, before a person decides."""
    outage_wait_s: float = 600
    """Seconds that a task waits for a service that takes no creates; then its retry goes on later."""
    outage_hours: float = 8
    """Hours from a row's first attempt in which attempts answered 429 or 503 don't count."""
    create_timeout_s: float = 60
    """Seconds that one create may take, connection and token included; then it is cut off."""
    check_max_age_s: float = 600
    """Seconds after which a check that the service has no record of a row must be repeated before sending."""
    list_page_size: int = 1000
    """Page size with which a drop asks for contacts and consultants; a service may give or take fewer."""
    lease_s: float = 60
    """Seconds that a row stays its worker's without a sign of life."""
    create_stopped_by: str = "403,404,405"
    """Statuses by which creates as such are refused, and not the row's data: sending stops. Or `none`."""
    create_concurrency: int = 8
    """Creates under way at once, in one task."""
    chunk_rows: int = 200
    """Rows that one task creates; chunks run side by side."""
    phone_region: str = "FR"
    """Country, by its ISO code, of phone numbers that come without a country's prefix."""
    keep_days: int = 30
    """Days that the ledger keeps what a row sent, once its drop has its receipt and nobody has to decide on it."""

    @property
    def settle(self) -> timedelta:
        """The settle time."""
        return timedelta(seconds=self.settle_s)

    @property
    def send_within_s(self) -> float:
        """Seconds from an intent within which its POST leaves or never does; the rest is the service's."""
        return min(self.create_timeout_s / 2, self.lease_s)

    @property
    def in_flight(self) -> timedelta:
        """The longest time from an intent to the end of its POST."""
        return timedelta(seconds=self.create_timeout_s)

    @property
    def check_max_age(self) -> timedelta:
        """How old a check of the service may be when a POST is intended."""
        return timedelta(seconds=self.check_max_age_s)

    @property
    def outage(self) -> timedelta:
        """How long attempts that meet an outage don't count."""
        return timedelta(hours=self.outage_hours)

    @property
    def lease(self) -> timedelta:
        """The life of a lease."""
        return timedelta(seconds=self.lease_s)

    @property
    def stopping(self) -> frozenset[int]:
        """Statuses that stop all sending."""
        return _statuses("BMS_CREATE_STOPPED_BY", self.create_stopped_by)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "OnboardingSettings":
        """Read `BMS_*`; raise `InvalidSetting` with the remedy when one can't be read."""
        given = dict(os.environ if environment is None else environment)
        own: dict[str, Any] = {}
        for name in NUMBERS:
            if text := given.pop(variable := f"BMS_{name.upper()}", ""):
                own[name] = _number(variable, text)
        if text := given.pop("BMS_APPROVAL", ""):
            own["approval"] = _approval(text)
        read = replace(super().from_environment(given), **own)
        _ = read.stopping  # a wrong one is named before anything is done
        return read


NUMBERS: Final = (
    "approval_hours",
    "settle_s",
    "outage_wait_s",
    "outage_hours",
    "create_timeout_s",
    "check_max_age_s",
    "lease_s",
)


def _number(variable: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 < number < float("inf"):
        raise InvalidSetting(f"{variable} holds {text!r}; it takes a number, more than 0")
    return number


def _statuses(variable: str, text: str) -> frozenset[int]:
    parts = [] if text == "none" else text.split(",")
    if all(len(part) == len("404") and part.isdecimal() and part[0] == "4" for part in parts):
        return frozenset(map(int, parts))
    raise InvalidSetting(f"{variable} holds {text!r}; it takes statuses as 403,404,405 or none")


def _approval(text: str) -> Approval:
    if text == "always":
        return "always"
    if text == "never":
        return "never"
    if text.isdecimal() and len(text) <= MAX_DIGITS:
        return int(text)
    raise InvalidSetting(f"BMS_APPROVAL holds {text!r}; it takes always, never or a number of rows")
