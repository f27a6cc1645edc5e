"""Settings shared by all flows, read from `BMS_*` environment variables."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
    get_args,
    get_type_hints,
)
from zoneinfo import ZoneInfo, available_timezones

from bms_flows.catalog import WITH_TARGET
from bms_warehouse.resources import WITH_PRIVATE_FIELDS

MAX_DIGITS = 9
"""Maximum digits of a whole number; `timedelta` takes no more days."""
MAX_MAPPED_TASKS: Final = 1024
"""Airflow's default limit of mapped tasks (`[core] max_map_length`); a longer list fails the mapping task."""


DetailLevel = Literal["off", "directory", "full"]
"""Stored details of a resource with private fields; only `full` stores these, in bms_private."""

Language = Literal["EN", "FR"]
"""Language of code names, and of texts to HR users and approvers."""


T = TypeVar("T")

CONSTANT: Final = "constant"
Constant: TypeAlias = Annotated[T, CONSTANT]
"""Type of a field that no variable sets; tests give it other values."""

RETIRED: Final = {"BMS_KEEP_PARQUET_DAYS": "loads write no Parquet files any more"}
"""Variables of earlier versions, and why they have no effect; constants are added."""

ELSEWHERE: Final = re.compile(
    r"BMS_(DATA_ROOT|LOCAL_DIR|PROVE|RULES|TASK_SLOTS|WAREHOUSE_URL|(REQUIRE|SANDBOX|STACK|TEST)_\w+)"
)
"""Variables that are no field of a settings class."""


class InvalidSetting(ValueError):
    """A setting is invalid; the text names the variable, its value and the allowed values."""

    retriable = False


@dataclass(frozen=True, kw_only=True)
class FlowSettings:
    """Flow settings; field `x` reads the variable `BMS_X`.

    `details` reads the variable `BMS_<RESOURCE>_DETAILS` of each mirrored resource with private fields.
    `fresh_hours` reads the variable `BMS_FRESH_HOURS_<DAG ID>` of each flow that has a target.
    """

    time_zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("Europe/Paris"))
    """Time zone of the company's days."""
    language: Language = "FR"
    """Language of the code names in the rows; `bms.code_name` stores both languages."""
    window_days: int = 7
    """Days per invoice request; limits the size of a response."""
    unit_days: int = 366
    """Maximum number of days of one entity that one task loads."""
    lookback_days: int = 35
    """Days before the last requested day that every run reads again."""
    lookback_budget: int = 120
    """Maximum number of older days that a run reads because they were never read or have open invoices."""
    lookback_rotation: int = 90
    """Number of runs within which every older day is read again once, with or without open invoices."""
    lookback_gap: Constant[int] = 2
    """Maximum number of days between two windows that are joined into one request."""
    drop_settle_s: Constant[int] = 5
    """Seconds between the two checks that must find a dropped file unchanged."""
    drop_stable_minutes: int = 10
    """Minutes without change after which a file without a proper end is processed; its plan always needs approval."""
    keep_raw_days: int = 1100
    """Retention in days of raw invoice responses; `bms rebuild` needs them."""
    keep_people_days: int = 100
    """Retention in days of raw responses about contacts, consultants and employees (personal data)."""
    keep_reports_days: int = 400
    """Retention in days of reports; reports of drops contain personal data."""
    keep_archive_days: int = 100
    """Retention in days of dropped files (personal data)."""
    keep_operators_days: int = 100
    """Retention in days of files that operators wrote below `operators/` (personal data)."""
    invoice_range_date: Literal["invoice_date", "created_on", "due_date", "sent_on"] = (
        "invoice_date"
    )
    """Invoice date that `start_date` and `end_date` filter (not shown by the interface)."""
    holidays: str = "FR"
    """ISO code of the country on whose public holidays few invoices are expected."""
    mirror_passes: Constant[int] = 3
    """Maximum number of passes over a list until two passes agree."""
    mirror_details: int = 10_000
    """Maximum number of details that a run reads; the next runs read the rest."""
    mirror_rotation: int = 100
    """Number of runs within which every detail is read again once, if `BMS_MIRROR_DETAILS` suffices; the list does not show all changes."""
    mirror_gone_percent: int = 5
    """Maximum percentage of a mirror's rows that may be missing at once without confirmation."""
    mirror_gone_rows: Constant[int] = 10
    """Up to this number, missing rows never need confirmation."""
    details: Mapping[str, DetailLevel] = field(default_factory=dict)
    """Details to store, by mirrored resource with private fields; `details_of` has the default."""
    fresh_hours: Mapping[str, float | None] = field(default_factory=dict)
    """Freshness targets by DAG id, in hours or None for no target; the catalog has the defaults."""
    airflow_url: str = "http://localhost:8080"
    """Airflow's public address for links in messages; Airflow's own `[api] base_url` takes precedence."""
    runbook_url: str = ""
    """Address of your own runbook for links in messages; the code is appended as the anchor. Empty: the board's page."""
    notice_to: str = ""
    """Comma-separated mail addresses that receive messages."""
    notice_from: str = ""
    """Sender of the mails of `bms health`."""
    notice_webhook: str = field(default="", repr=False)
    """URL to which `bms health` posts messages as `{"text": …}`; secret."""
    notice_smtp: str = field(default="", repr=False)
    """Mail server of `bms health`: `smtp://user:password@host:587` (requires STARTTLS) or `smtps://…`; `smtp://…?tls=off` allows plain text; secret."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the `BMS_*` variables; raise `InvalidSetting` if a value is invalid."""
        given = os.environ if environment is None else environment
        hints = get_type_hints(cls)
        values = {
            each.name: _read(variable, given[variable], hints[each.name])
            for each in fields(cls)
            if each.name not in (*constants(cls), "details", "fresh_hours")
            and given.get(variable := f"BMS_{each.name.upper()}")
        }
        details = {
            each.name: _read(variable, given[variable], DetailLevel)
            for each in WITH_PRIVATE_FIELDS
            if given.get(variable := f"BMS_{each.details_level.upper()}")
        }
        fresh_hours = {
            flow.dag_id: _read(variable, given[variable], float | None)
            for flow in WITH_TARGET
            if given.get(variable := f"BMS_FRESH_HOURS_{flow.dag_id.upper()}")
        }
        return cls(**values, details=details, fresh_hours=fresh_hours)

    def details_of(self, resource: str) -> DetailLevel:
        """Return the stored details of a mirrored resource."""
        return self.details.get(resource, "directory")


def constants(settings: type[FlowSettings]) -> set[str]:
    """Return the names of the fields that no variable sets."""
    hints = get_type_hints(settings, include_extras=True)
    return {name for name, hint in hints.items() if CONSTANT in getattr(hint, "__metadata__", ())}


def without_effect(
    environment: Iterable[str], classes: Iterable[type[FlowSettings]]
) -> Iterator[str]:
    """Yield a sentence about each variable `BMS_*` that no field of the settings `classes` reads."""
    fixed = {f"BMS_{name.upper()}" for each in classes for name in constants(each)}
    known = {f"BMS_{each.name.upper()}" for kind in classes for each in fields(kind)} - fixed
    known |= {f"BMS_{each.details_level.upper()}" for each in WITH_PRIVATE_FIELDS}
    known |= {f"BMS_FRESH_HOURS_{flow.dag_id.upper()}" for flow in WITH_TARGET}
    retired = RETIRED | dict.fromkeys(fixed, "the value is a constant now")
    for name in sorted(environment):
        if name.startswith("BMS_") and name not in known and not ELSEWHERE.fullmatch(name):
            why = retired.get(
                name, "no setting has this name; docs/reference/settings.md lists all"
            )
            yield f"{name} has no effect: {why}. Remove the variable."


def _read(variable: str, text: str, kind: Any) -> Any:
    """Parse one variable by its field's type."""
    if kind is int:
        if text.isdecimal() and len(text) <= MAX_DIGITS and int(text):
            return int(text)
        allowed = f"a whole number above 0 with at most {MAX_DIGITS} digits"
    elif kind == float | None:
        if text == "off":
            return None
        if (number := _positive(text)) is not None:
            return number
        allowed = "a number above 0, or to off"
    elif kind is str:
        return text
    elif kind is ZoneInfo:
        if text in available_timezones():
            return ZoneInfo(text)
        allowed = "the name of a time zone, such as Europe/Paris"
    else:
        if text in get_args(kind):
            return text
        allowed = " or ".join(get_args(kind))
    raise InvalidSetting(f"{variable} is {text!r}. Set it to {allowed}.")


def _positive(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None
