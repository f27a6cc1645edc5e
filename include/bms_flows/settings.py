"""The flows' settings: one place, read from the environment, each with its default and its reason."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_type_hints
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class BadSetting(ValueError):
    """A setting can't be read; the text names the variable, what it holds and what it may hold."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the flows may be told; the variable of a field is its name in capitals, led by `BMS_`."""

    time_zone: ZoneInfo = ZoneInfo("Europe/Paris")
    """The company's days begin and end in this zone."""
    window_days: int = 7
    """Days asked for in one invoice request; bounds an answer's size."""
    unit_days: int = 366
    """Days of one entity that one task reads and loads at once."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "Settings":
        """Read `BMS_*`; raise `BadSetting` with the remedy when one can't be read."""
        given = os.environ if environment is None else environment
        hints = get_type_hints(cls)
        values = {
            field.name: _read(variable, given[variable], hints[field.name])
            for field in fields(cls)
            if given.get(variable := f"BMS_{field.name.upper()}")
        }
        return cls(**values)


def _read(variable: str, text: str, kind: Any) -> Any:
    try:
        if kind is int:
            value = int(text)
            if value < 1:
                raise ValueError(text)
            return value
        return kind(text)
    except (ValueError, ZoneInfoNotFoundError) as error:
        wanted = "a whole number from 1" if kind is int else f"a {kind.__name__}"
        raise BadSetting(f"{variable} holds {text!r}; it takes {wanted}") from error
