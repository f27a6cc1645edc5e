"""The flows' settings: one place, read from the environment, each with its default and its reason."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, Self, get_args, get_type_hints
from zoneinfo import ZoneInfo, available_timezones

MAX_DIGITS = 9
"""Maximum digits of a whole number; `timedelta` takes no more days."""
MAX_MAPPED_TASKS: Final = 1024
"""Airflow's default limit of mapped tasks (`[core] max_map_length`); a longer list fails the mapping task."""


class InvalidSetting(ValueError):
    """A setting can't be read; the text names the variable, what it holds and what it may hold."""

    retriable = False


@dataclass(frozen=True, kw_only=True)
class FlowSettings:
    """What the flows may be told; the variable of a field is its name in capitals, led by `BMS_`."""

    time_zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("Europe/Paris"))
    """The company's days begin and end in this zone."""
    language: Literal["EN", "FR"] = "FR"
    """Language of the names of codes beside the rows; the other is kept in `bms.code_name`."""
    window_days: int = 7
    """Days asked for in one invoice request; bounds an answer's size."""
    unit_days: int = 366
    """Days of one entity that one task reads and loads at once."""
    lookback_days: int = 35
    """Days before the last one asked for that every run reads again."""
    lookback_budget: int = 120
    """Older days, never read or with open invoices, that a run reads at most."""
    lookback_rotation: int = 90
    """Every older day is read again once in so many runs, open or not."""
    lookback_gap: int = 2
    """Days so near to each other are asked for in one request."""
    drop_settle_s: int = 5
    """Seconds between the two looks that must find a dropped file unchanged."""
    drop_stable_minutes: int = 10
    """Minutes after which a file whose end is missing is taken as it is, if it stays unchanged; its plan always needs approval."""
    keep_raw_days: int = 1100
    """Days that answers are kept as they came: `bms rebuild` needs them."""
    keep_people_days: int = 100
    """The same of contacts, consultants and employees: personal data, from which nothing is rebuilt."""
    keep_parquet_days: int = 100
    """Days that Parquet files are kept."""
    keep_reports_days: int = 400
    """Days that reports are kept; those of drops hold personal data."""
    keep_archive_days: int = 100
    """Days that dropped files are kept; they hold personal data."""
    keep_operators_days: int = 100
    """Days that files which operators wrote below `operators/` are kept; they hold personal data."""
    invoice_range_date: Literal["invoice_date", "created_on", "due_date", "sent_on"] = (
        "invoice_date"
    )
    """The date that start_date and end_date filter; not shown by the interface."""
    holidays: str = "FR"
    """Country, by its ISO code, whose public holidays bring no invoices."""
    mirror_passes: int = 3
    """Times a list is read through at most until two agree."""
    mirror_details: int = 10_000
    """Details that a run reads at most; the others follow in the next runs."""
    mirror_rotation: int = 100
    """Every detail is read again once in so many runs, if `BMS_MIRROR_DETAILS` suffices: the list does not show all changes."""
    mirror_gone_percent: int = 5
    """Share of a mirror's rows that may be gone at once; beyond it a person is asked."""
    mirror_gone_rows: int = 10
    """So few rows may always be gone at once."""
    employee_details: Literal["off", "directory", "full"] = "directory"
    """What is kept of employees' details; sensitive fields with `full` only, in bms_private."""
    fresh_hours_invoice_extraction: float | None = 26
    """Hours that the last complete load of invoices may be old; beyond, it is late. `off`: never."""
    fresh_hours_contact_sync: float | None = 1.5
    """The same of contacts."""
    fresh_hours_consultant_sync: float | None = 26
    """The same of consultants."""
    fresh_hours_employee_directory: float | None = 26
    """The same of employees."""
    fresh_hours_reconciliation: float | None = 26
    """The same of the self-audit."""
    fresh_hours_service_contract: float | None = 172
    """The same of the contract probe."""
    fresh_hours_retention: float | None = 26
    """The same of the deletion of old files."""
    airflow_url: str = "http://localhost:8080"
    """Airflow's address, as people reach it, for the links in messages; Airflow's own `[api] base_url` goes first."""
    runbook_url: str = "docs/runbook.md"
    """Where messages find the runbook; the section's anchor is added."""
    notice_to: str = ""
    """Addresses that messages go to by mail, with commas between them."""
    notice_from: str = ""
    """The sender of mails that `bms health` sends."""
    notice_webhook: str = field(default="", repr=False)
    """Where `bms health` posts messages, as `{"text": …}`; the whole URL, kept secret."""
    notice_smtp: str = field(default="", repr=False)
    """Its mail server: `smtp://user:password@host:587` (requires STARTTLS), or `smtps://…`; `smtp://…?tls=off` allows plain text; kept secret."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read `BMS_*`; raise `InvalidSetting` with the remedy when one can't be read."""
        given = os.environ if environment is None else environment
        hints = get_type_hints(cls)
        values = {
            each.name: _read(variable, given[variable], hints[each.name])
            for each in fields(cls)
            if given.get(variable := f"BMS_{each.name.upper()}")
        }
        return cls(**values)


def _read(variable: str, text: str, kind: Any) -> Any:
    """Read one variable by its field's type."""
    if kind is int:
        if text.isdecimal() and len(text) <= MAX_DIGITS and int(text):
            return int(text)
        wanted = f"a whole number from 1, of {MAX_DIGITS} digits at most"
    elif kind == float | None:
        if text == "off":
            return None
        if (number := _positive(text)) is not None:
            return number
        wanted = "a number, more than 0, or off"
    elif kind is str:
        return text
    elif kind is ZoneInfo:
        if text in available_timezones():
            return ZoneInfo(text)
        wanted = "the name of a time zone, as Europe/Paris"
    else:
        if text in get_args(kind):
            return text
        wanted = " or ".join(get_args(kind))
    raise InvalidSetting(f"{variable} holds {text!r}; it takes {wanted}")


def _positive(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None
