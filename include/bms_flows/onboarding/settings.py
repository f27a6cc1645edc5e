"""Settings of onboardings: approval, settling, attempts, concurrency, inboxes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from bms_flows.catalog import CREATED_BY
from bms_flows.runtime.settings import (
    Constant,
    Count,
    Country,
    FlowSettings,
    Language,
    Positive,
    Switchable,
)
from bms_warehouse.resources import RESOURCES

Approval = Annotated[
    Literal["always", "never"] | Annotated[int, Meta(ge=0, lt=10**9)],
    Meta(description="always, never or a number of rows"),
]
Statuses = Annotated[
    str,
    Meta(
        pattern="^(none|4[0-9]{2}(,4[0-9]{2})*)$",
        description="statuses such as 403,404,405, or to none",
    ),
]
INBOXES = "|".join(each.plural for each in RESOURCES if each.name in CREATED_BY)
Inbox = Annotated[str, Meta(pattern=f"^({INBOXES})$")]
"""Name of an inbox's folder."""
UserIds = Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1)]
"""An empty list would permit every user."""
MAX_BODY_DAYS = 30
"""Days after a row's final state after which its creation body is deleted at the latest."""


class DeclaredFormat(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename={"date_order": "dates", "decimal_mark": "decimals"},
):
    """How the files of an inbox write dates and decimals; None: each column's cells decide.

    Dates beginning with the year (`2026-12-31`) are read whatever is declared.
    """

    date_order: Literal["dmy", "mdy", "ymd"] = "dmy"
    decimal_mark: Literal[",", "."] | None = None


UNDECLARED: Final = DeclaredFormat()


@dataclass(frozen=True, kw_only=True)
class OnboardingSettings(FlowSettings):
    """Settings of onboardings, in addition to those of all flows."""

    approval: Approval = 20
    """When creating records requires approval: `always`, `never`, or above this number of rows per resource and day."""
    approval_hours: Positive = 72
    """Approval timeout in hours; then the plan is rejected, and approval can be requested again."""
    approval_remind_hours: Constant[float | None] = 24
    """Hours between reminders to the approvers of a plan that waits for an answer; `off`: no reminders."""
    approval_alarm_hours: Switchable = 48
    """Hours after which a plan without an answer raises an alarm, or `off`."""
    settle_s: Positive = 30
    """Assumed maximum number of seconds until a created record appears in the service's lists."""
    create_attempts: Count = 5
    """Maximum number of POSTs for a row before it goes to review."""
    outage_wait_s: Constant[float] = 600
    """Maximum number of seconds that a task waits for an unavailable service; a later retry of the task then continues."""
    outage_hours: Constant[float] = 8
    """Hours after a row's first attempt in which attempts answered 429 or 503 do not count towards `BMS_CREATE_ATTEMPTS`."""
    create_timeout_s: Positive = 60
    """Timeout of one create in seconds, including connection and token."""
    check_max_age_s: Constant[float] = 600
    """Seconds for which a check that the service has no record of a row is valid; before sending, an older check is repeated."""
    list_page_size: Count = 1000
    """Page size for lists of contacts and consultants; the service may return smaller pages."""
    lease_s: Constant[float] = 60
    """Seconds until a worker's lease on a row expires unless the worker renews it."""
    create_stopped_by: Statuses = "403,404,405"
    """HTTP statuses that concern all creates and therefore stop the sending, or `none`."""
    create_concurrency: Constant[int] = 8
    """Maximum number of concurrent creates in one task."""
    chunk_rows: Constant[int] = 500
    """Rows per task; a large drop is divided into at most eight larger tasks."""
    phone_region: Country = "FR"
    """Country (ISO code) of phone numbers without a prefix."""

    rules: str = ""
    """File that replaces [rules.toml](../../include/bms_flows/onboarding/planning/rules.toml): required fields, codes, ranges, and the figures of a plan that always require approval."""
    inbox_formats: Mapping[Inbox, DeclaredFormat] = field(default_factory=dict)
    """Formats of an inbox's files, `{"employees": {"dates": "dmy", "decimals": ","}}` (dates: `dmy`, `mdy` or `ymd`, default `dmy`; decimals: `,` or `.`, by default determined from each column's cells)."""
    inbox_notices: Mapping[Inbox, str] = field(default_factory=dict)
    """Recipient of the notification when a drop ends, `{"employees": "rh@example.com"}`: a mail address (needs the connection `bms_mail`), or a connection of type `http`."""
    inbox_languages: Mapping[Inbox, Language] = field(default_factory=dict)
    """Language of an inbox's approval requests, notifications, pages and `_hint`, `{"contacts": "EN"}`; by default `BMS_LANGUAGE`."""
    approvers: Mapping[Inbox, UserIds] = field(default_factory=dict)
    """Ids of the Airflow users who may answer an inbox's approval requests, `{"employees": ["marie", "paul"]}`; with the FAB auth manager the numbers, `["3", "7"]`, of `airflow users list`. By default every user who may edit the DAG."""
    four_eyes: Mapping[Inbox, bool] = field(default_factory=dict)
    """Whether an answer is void if its user submitted the drop on the board or triggered its run, `{"employees": true}`; by default where `BMS_APPROVERS` names more than one user."""
    approval_notices: Mapping[Inbox, str] = field(default_factory=dict)
    """Recipient of an inbox's approval requests and reminders, as in `BMS_INBOX_NOTICES`; by default the recipients of alarms."""

    def answering(self, inbox: str, involved: Iterable[str | None]) -> tuple[list[str], list[str]]:
        """Return the users who may answer a request of an inbox, and those whose answer is void.

        `involved`: who submitted the drop or triggered its run. Without any other approver the request
        stays theirs: it must not become everybody's.
        """
        approvers = self.approvers.get(inbox, ())
        four_eyes = self.four_eyes.get(inbox, len(approvers) > 1)
        void = [each for each in involved if each] if four_eyes else []
        return [each for each in approvers if each not in void] or [*approvers], void

    def language_of(self, inbox: str) -> Language:
        """Return the language of an inbox."""
        return self.inbox_languages.get(inbox, self.language)

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
        stopped_by = self.create_stopped_by
        return frozenset(map(int, stopped_by.split(","))) if stopped_by != "none" else frozenset()

    @property
    def body_days(self) -> int:
        """Retention in days of the creation body of a row, after the row's final state."""
        return min(MAX_BODY_DAYS, self.keep_people_days)
