"""Days of the company in the tests."""

from datetime import date, datetime
from zoneinfo import ZoneInfo


def today(zone: str = "Europe/Paris") -> date:
    """Return today's date where the company is: late in the evening UTC is a day behind."""
    return datetime.now(ZoneInfo(zone)).date()
