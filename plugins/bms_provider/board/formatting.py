"""Formatting of numbers, amounts, dates and durations for pages; templates use each function as a filter."""

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from bms_flows.texts import PAGES

THIN = "\u202f"
"""Narrow no-break space: separates thousands, and a number from its unit."""

ENGLISH_MONTHS = PAGES["months"]["EN"]


def number(value: float) -> str:
    """Return a whole number with separated thousands."""
    return f"{round(value):,}".replace(",", THIN).replace("-", "\u2212")


def amount(value: Decimal) -> str:
    """Return an exact amount with separated thousands and at least two decimals."""
    text = f"{value:,.2f}" if value == round(value, 2) else f"{value:,f}"
    return text.replace(",", THIN)


def chart_value(value: float) -> str:
    """Return a chart value: a whole number, or two decimals."""
    return number(value) if value == round(value) else f"{value:,.2f}".replace(",", THIN)


def days(first: date | None, last: date | None) -> str:
    """Return a range of days, a single day, or an empty text."""
    if first is None or last is None:
        return ""
    if first == last:
        return f"{first:%-d %b %Y}"
    start = f"{first:%-d %b}" if first.year == last.year else f"{first:%-d %b %Y}"
    return f"{start} \u2013 {last:%-d %b %Y}"


def difference(value: Decimal | int) -> str:
    """Return a signed difference; with decimals for an amount."""
    text = amount(abs(value)) if isinstance(value, Decimal) else number(abs(value))
    return f"+{text}" if value > 0 else f"\u2212{text}" if value < 0 else "="


def milliseconds(value: float | None) -> str:
    """Return a latency, or a dash."""
    if value is None:
        return "\u2013"
    return f"{value / 1000:.1f}{THIN}s" if value >= 1000 else f"{value:.0f}{THIN}ms"  # noqa: PLR2004


def size(value: float) -> str:
    """Return the size of a file in bytes, kB or MB."""
    if value < 1000:  # noqa: PLR2004
        return f"{value}{THIN}B"
    return f"{value / 1e3:.1f}{THIN}kB" if value < 1e6 else f"{value / 1e6:.1f}{THIN}MB"  # noqa: PLR2004


def age(span: timedelta) -> str:
    """Return a duration in one unit, for example 40 min, 3.5 h or 12 d."""
    minutes = span.total_seconds() / 60
    if minutes < 1:
        return f"{max(span.total_seconds(), 0):.0f}{THIN}s"
    if minutes < 90:  # noqa: PLR2004
        return f"{minutes:.0f}{THIN}min"
    hours = minutes / 60
    if hours < 48:  # noqa: PLR2004
        return f"{hours:.1f}".removesuffix(".0") + f"{THIN}h"
    return f"{hours / 24:.0f}{THIN}d"


def moment(at: datetime, zone: ZoneInfo, months: Sequence[str] = ENGLISH_MONTHS) -> str:
    """Return a date and time in a time zone; `months` are the names of the months."""
    local = at.astimezone(zone)
    return f"{local.day} {months[local.month - 1]} {local:%Y, %H:%M}"


def prose(text: str) -> Markup:
    """Return a text of the runbook as HTML: what is in backticks is code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped
