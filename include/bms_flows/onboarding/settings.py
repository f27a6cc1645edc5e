"""Settings of onboardings: approval, settling, attempts, concurrency."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, Literal

from bms_flows.runtime.settings import MAX_DIGITS, Constant, FlowSettings, InvalidSetting

Approval = Literal["always", "never"] | int


@dataclass(frozen=True, kw_only=True)
class OnboardingSettings(FlowSettings):
    """Settings of onboardings, in addition to those of all flows."""

    approval: Approval = 20
    """When creating records requires approval: `always`, `never`, or above this number of rows per resource and day."""
    approval_hours: float = 72
    """Approval timeout in hours. When it expires, the plan is rejected; approval can be requested again later."""
    approval_remind_hours: Constant[float | None] = 24
    """Hours between reminders to the approvers of a plan that waits for an answer; `off`: no reminders."""
    approval_alarm_hours: float | None = 48
    """Hours after which a plan without an answer raises an alarm; `off`: no alarm."""
    settle_s: float = 30
    """Assumed maximum number of seconds until a created record appears in the service's lists."""
    create_attempts: int = 5
    """Maximum number of POSTs for a row before it goes to review."""
    outage_wait_s: Constant[float] = 600
    """Maximum number of seconds that a task waits for an unavailable service; a later retry of the task then continues."""
    outage_hours: Constant[float] = 8
    """Hours after a row's first attempt in which attempts answered 429 or 503 do not count towards `BMS_CREATE_ATTEMPTS`."""
    create_timeout_s: float = 60
    """Timeout of one create in seconds, including connection and token."""
    check_max_age_s: Constant[float] = 600
    """Seconds for which a check that the service has no record of a row is valid; before sending, an older check is repeated."""
    list_page_size: int = 1000
    """Page size for lists of contacts and consultants; the service may return smaller pages."""
    lease_s: float = 60
    """Seconds until a worker's lease on a row expires unless the worker renews it."""
    create_stopped_by: str = "403,404,405"
    """HTTP statuses that concern all creates, not the data of one row, and therefore stop the sending; or `none`."""
    create_concurrency: Constant[int] = 8
    """Maximum number of concurrent creates in one task."""
    chunk_rows: int = 500
    """Rows per task; chunks run in parallel."""
    phone_region: str = "FR"
    """ISO code of the country of phone numbers without a country prefix."""
    keep_days: int = 30
    """Retention in days of the creation body of a row, after the row's final state."""

    @property
    def settle(self) -> timedelta:
        """The settle time."""
        return timedelta(seconds=self.settle_s)

    @property
    def send_within_s(self) -> float:
        """Seconds after an intent in which its POST is sent or not at all; the rest is for the service."""
        return min(self.create_timeout_s / 2, self.lease_s)

    @property
    def in_flight(self) -> timedelta:
        """The longest time from an intent to the end of its POST."""
        return timedelta(seconds=self.create_timeout_s)

    @property
    def check_max_age(self) -> timedelta:
        """The maximum age of a service check at the intent of a POST."""
        return timedelta(seconds=self.check_max_age_s)

    @property
    def outage(self) -> timedelta:
        """The time in which attempts during an outage don't count."""
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
        """Read `BMS_*`; raise `InvalidSetting`, with the remedy, for an invalid value."""
        given = dict(os.environ if environment is None else environment)
        own: dict[str, Any] = {}
        for name in NUMBERS:
            if text := given.pop(variable := f"BMS_{name.upper()}", ""):
                own[name] = _number(variable, text)
        if text := given.pop("BMS_APPROVAL", ""):
            own["approval"] = _approval(text)
        read = replace(super().from_environment(given), **own)
        _ = read.stopping  # fail early on an invalid value
        return read


NUMBERS: Final = (
    "approval_hours",
    "settle_s",
    "create_timeout_s",
    "lease_s",
)


def _number(variable: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 < number < float("inf"):
        raise InvalidSetting(f"{variable} is {text!r}. Set it to a number above 0.")
    return number


def _statuses(variable: str, text: str) -> frozenset[int]:
    parts = [] if text == "none" else text.split(",")
    if all(len(part) == len("404") and part.isdecimal() and part[0] == "4" for part in parts):
        return frozenset(map(int, parts))
    raise InvalidSetting(
        f"{variable} is {text!r}. Set it to statuses such as 403,404,405, or to none."
    )


def _approval(text: str) -> Approval:
    if text == "always":
        return "always"
    if text == "never":
        return "never"
    if text.isdecimal() and len(text) <= MAX_DIGITS:
        return int(text)
    raise InvalidSetting(f"BMS_APPROVAL is {text!r}. Set it to always, never or a number of rows.")
