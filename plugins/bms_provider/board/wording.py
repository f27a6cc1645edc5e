"""Figures and times as people read them."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

THIN = "\u202f"
"""Parts the thousands of a number, and a number from its unit."""


def number(value: float) -> str:
    """Return a whole number with its thousands parted."""
    return f"{round(value):,}".replace(",", THIN)


def amount(value: Decimal) -> str:
    """Return an amount with its thousands parted and at least two decimals, all of them exact."""
    text = f"{value:,.2f}" if value == round(value, 2) else f"{value:,f}"
    return text.replace(",", THIN)


def percent(share: float) -> str:
    """Return a share as per cent."""
    return f"{100 * share:+.1f}{THIN}%"


def age(span: timedelta) -> str:
    """Return a span in its largest unit, with one decimal where that says more: 40 min, 3.5 h, 12 d."""
    minutes = span.total_seconds() / 60
    if minutes < 1:
        return f"{max(span.total_seconds(), 0):.0f}{THIN}s"
    if minutes < 90:  # noqa: PLR2004 - "1.5 h" says less than "90 min"
        return f"{minutes:.0f}{THIN}min"
    hours = minutes / 60
    if hours < 48:  # noqa: PLR2004 - and "2 d" says enough
        return f"{hours:.1f}".removesuffix(".0") + f"{THIN}h"
    return f"{hours / 24:.0f}{THIN}d"


def moment(at: datetime) -> str:
    """Return a moment for the eye; the template gives the machine's form beside it."""
    return f"{at:%d %b %Y, %H:%M}"
