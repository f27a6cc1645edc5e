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

import msgspec
from msgspec import Meta

from bms_flows.catalog import WITH_TARGET
from bms_warehouse.resources import WITH_PRIVATE_FIELDS

MAX_MAPPED_TASKS: Final = 1024
"""Airflow's default limit of mapped tasks (`[core] max_map_length`); a longer list fails the mapping task."""

Count = Annotated[
    int, Meta(ge=1, lt=10**9, description="a whole number above 0 with at most 9 digits")
]
"""`timedelta` takes no more than 9 digits of days."""
Days = Annotated[
    int, Meta(ge=1, lt=10**5, description="a whole number above 0 with at most 5 digits")
]
"""Subtracted from a date, a million days precede the year 1."""
Positive = Annotated[float, Meta(gt=0, lt=10**6, description="a number above 0, below a million")]
"""Added to a time, 100 million hours exceed the year 9999."""
Switchable = Annotated[
    Positive | None, Meta(description="a number above 0, below a million, or to off")
]
TimeZone = Annotated[ZoneInfo, Meta(description="the name of a time zone, such as Europe/Paris")]
TimeOfDay = Annotated[
    str, Meta(pattern=r"^([01]\d|2[0-3]):[0-5]\d$", description="a time such as 07:30")
]
Country = Annotated[
    str, Meta(pattern="^[A-Z]{2,3}$", description="the ISO code of a country, such as FR")
]
FlowId = Annotated[str, Meta(pattern=f"^({'|'.join(flow.dag_id for flow in WITH_TARGET)})$")]

DetailLevel = Literal["off", "directory", "full"]
"""Stored details of a resource with private fields; only `full` stores these, in bms_private."""

Language = Literal["EN", "FR"]
"""Language of code names, and of texts to HR users and approvers."""

T = TypeVar("T")

CONSTANT: Final = "constant"
Constant: TypeAlias = Annotated[T, CONSTANT]
"""Type of a field that no variable sets; tests give it other values."""

RETIRED: Final = {
    "BMS_KEEP_PARQUET_DAYS": "loads write no Parquet files any more",
    "BMS_KEEP_DAYS": "creation bodies are deleted after 30 days, or BMS_KEEP_PEOPLE_DAYS if less",
    "BMS_KEEP_ARCHIVE_DAYS": "BMS_KEEP_PEOPLE_DAYS replaces it",
    "BMS_KEEP_OPERATORS_DAYS": "BMS_KEEP_PEOPLE_DAYS replaces it",
    **{
        f"BMS_FRESH_HOURS_{flow.dag_id.upper()}": f'BMS_FRESH_HOURS={{"{flow.dag_id}": …}} replaces it'
        for flow in WITH_TARGET
    },
}
"""Variables of earlier versions, and what replaces them; constants are added."""

ELSEWHERE: Final = re.compile(
    r"BMS_(AIRFLOW_(USER|PASSWORD)|DATA_ROOT|LOCAL_DIR|PROVE|STACK|TASK_SLOTS|WAREHOUSE_\w+|(REQUIRE|SANDBOX|STACK|TEST)_\w+)"
)
"""Variables that are no field of a settings class."""


class InvalidSetting(ValueError):
    """A setting is invalid; the text names the variable, its value and the allowed values."""

    retriable = False


@dataclass(frozen=True, kw_only=True)
class FlowSettings:
    """Flow settings; field `x` reads the variable `BMS_X`, a mapping as a JSON object.

    `details` reads the variable `BMS_<RESOURCE>_DETAILS` of each mirrored resource with private fields.
    """

    time_zone: TimeZone = field(default_factory=lambda: ZoneInfo("Europe/Paris"))
    """Time zone of the company's days."""
    language: Language = "FR"
    """Language of the code names in the rows; `bms.code_name` stores both languages."""
    window_days: Count = 7
    """Days per invoice request; limits the size of a response."""
    unit_days: Constant[int] = 366
    """Maximum number of days of one entity that one task loads."""
    lookback_days: Days = 35
    """Latest days, the last requested one included, that a run without a first day reads."""
    lookback_budget: Count = 120
    """Maximum number of older days that a run reads: never read, with findings or with open invoices."""
    lookback_rotation: Count = 90
    """Number of runs within which every older day is read again."""
    lookback_gap: Constant[int] = 2
    """Maximum number of days between two windows that are joined into one request."""
    drop_settle_s: Constant[int] = 5
    """Seconds between the two checks that must find a dropped file unchanged."""
    drop_stable_minutes: Count = 10
    """Minutes without change after which a file without a proper end is processed; its plan needs approval."""
    keep_raw_days: Count = 1100
    """Retention in days of raw invoice responses; `bms rebuild` needs them."""
    keep_people_days: Count = 100
    """Retention in days of files with personal data: dropped files, responses about contacts, consultants and employees, files below `operators/`; also of creation bodies, if below 30."""
    keep_reports_days: Count = 400
    """Retention in days of reports; those of drops contain personal data."""
    invoice_range_date: Literal["invoice_date", "created_on", "due_date", "sent_on"] = (
        "invoice_date"
    )
    """Invoice date that `start_date` and `end_date` filter (not shown by the interface)."""
    holidays: Country = "FR"
    """Country (ISO code) on whose public holidays few invoices are expected, and no load has a deadline."""
    mirror_passes: Constant[int] = 3
    """Maximum number of passes over a list until two passes agree."""
    mirror_details: Count = 10_000
    """Maximum number of details that a run reads; the next runs read the rest."""
    mirror_rotation: Count = 100
    """Number of runs within which every detail is read again, if `BMS_MIRROR_DETAILS` suffices; lists do not show all changes."""
    mirror_gone_percent: Count = 5
    """Maximum percentage of a mirror's rows that may be missing at once without confirmation."""
    mirror_gone_rows: Constant[int] = 10
    """Up to this number, missing rows never need confirmation."""
    details: Mapping[str, DetailLevel] = field(default_factory=dict)
    """Details to store, by mirrored resource with private fields; `details_of` has the default."""
    fresh_hours: Mapping[FlowId, Positive | Literal["off"]] = field(default_factory=dict)
    """Freshness targets by DAG id: maximum hours since the last complete load, or `off`."""
    fresh_by: Mapping[FlowId, TimeOfDay] = field(default_factory=dict)
    """Deadlines by DAG id, `{"invoice_extraction": "07:30"}`: on working days, the time by which a complete load has the working day before."""
    airflow_url: str = "http://localhost:8080"
    """Airflow's public address for links in messages; Airflow's `[api] base_url` takes precedence."""
    runbook_url: str = ""
    """Your own runbook for links in messages; the code is appended as the anchor. Empty: the board's page."""
    notice_to: str = ""
    """Comma-separated mail addresses that receive messages."""
    report_to: str = ""
    """Comma-separated mail addresses that receive the invoice report (needs the connection `bms_mail`)."""
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
        hints = get_type_hints(cls, include_extras=True)
        fixed = constants(cls) | {"details"}
        variables = {name: f"BMS_{name.upper()}" for name in hints if name not in fixed}
        values = {
            name: _convert(variable, given[variable], hints[name])
            for name, variable in variables.items()
            if given.get(variable)
        }
        details = {
            each.name: _convert(variable, given[variable], DetailLevel)
            for each in WITH_PRIVATE_FIELDS
            if given.get(variable := f"BMS_{each.details_level.upper()}")
        }
        return cls(**values, details=details)

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
    retired = RETIRED | dict.fromkeys(fixed, "the value is a constant now")
    for name in sorted(environment):
        if name.startswith("BMS_") and name not in known and not ELSEWHERE.fullmatch(name):
            why = retired.get(
                name, "no setting has this name; docs/reference/settings.md lists all"
            )
            yield f"{name} has no effect: {why}. Remove the variable."


def _convert(variable: str, text: str, kind: Any) -> Any:
    """Return the value of a variable as its field's type; raise `InvalidSetting`."""
    mapping = getattr(kind, "__origin__", None) is Mapping
    try:
        if mapping:
            return msgspec.json.decode(text, type=kind)
        given = None if text == "off" and kind == Switchable else text
        return msgspec.convert(given, kind, strict=False, dec_hook=_time_zone)
    except (ValueError, RecursionError) as error:
        if mapping:
            raise InvalidSetting(f"{variable} must be a JSON object: {error}") from None
        raise InvalidSetting(f"{variable} is {text!r}. Set it to {_allowed(kind)}.") from None


def _time_zone(kind: Any, text: str) -> Any:
    if kind is ZoneInfo and text in available_timezones():
        return ZoneInfo(text)
    raise ValueError


def _allowed(kind: Any) -> str:
    """Return the allowed values of a type, in words."""
    for each in getattr(kind, "__metadata__", ()):
        if isinstance(each, Meta) and each.description:
            return each.description
    return " or ".join(get_args(kind))
