"""Working days of a country: Monday to Friday, without public holidays."""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from importlib import import_module
from typing import Final

from bms_flows.runtime.settings import InvalidSetting

SATURDAY: Final = 5


@dataclass(frozen=True)
class Holidays:
    """The public holidays of a country; `day in holidays` computes a year when first asked."""

    country: str
    """ISO code."""

    def __contains__(self, day: object) -> bool:
        return isinstance(day, date) and day in _year(self.country, day.year)

    def working(self, day: date) -> bool:
        """Return whether a day is a working day."""
        return day.weekday() < SATURDAY and day not in self

    def last_working(self, day: date) -> date:
        """Return the last working day up to `day`."""
        while not self.working(day):
            day -= timedelta(days=1)
        return day


@cache
def _year(country: str, year: int) -> frozenset[date]:
    # Few loads ask: the import takes as long as a day's extraction.
    try:
        return frozenset(import_module("holidays").country_holidays(country, years=year))
    except NotImplementedError:
        text = f"BMS_HOLIDAYS is {country!r}, of which no holidays are known. Set it to a country's ISO code."
        raise InvalidSetting(text) from None
