"""Checks for fields that lose their values in a load; pure.

If the service changes a field's type or name, the column becomes empty although each row is valid.
Loads of invoices and mirrors count their fields in the same way. A load is held for review if a
field loses its values.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields


@dataclass(frozen=True)
class FieldTolerance:
    """Limits for the values that a field may lose in one load."""

    mistyped_rows: int = 2
    """Up to this many values of another type always pass."""
    mistyped_share: float = 0.05
    """Maximum share of values of another type."""
    emptied_rows: int = 3
    """Fewer lost values always pass."""
    emptied_share: float = 0.5
    """Maximum share of lost values."""
    new_rows: int = 10
    """Minimum new rows and rows of recent history for comparing empty fields."""
    usual_share: float = 0.9
    """Minimum share of values in recent history for new rows without any value to be unusual."""


@dataclass
class FieldCounts:
    """Rows of a load by field, for the details of its step run."""

    missing: Counter[str] = field(default_factory=Counter)
    """Rows whose value is null, absent or mistyped."""
    mistyped: Counter[str] = field(default_factory=Counter)
    """Rows whose value has an unexpected type and an ambiguous meaning."""
    coerced: Counter[str] = field(default_factory=Counter)
    """Rows whose value has an unexpected type and one possible meaning."""

    def as_dict(self) -> dict[str, dict[str, int]]:
        """Return the counts above 0."""
        found = {each.name: dict(+getattr(self, each.name)) for each in fields(self)}
        return {name: counts for name, counts in found.items() if counts}


@dataclass(frozen=True, kw_only=True)
class FieldFound:
    """One field of a load, compared with what the warehouse held before the load."""

    filled: int = 0
    """Rows of the load with a value."""
    filled_before: int = 0
    """Rows that the load read again and that had a value in the warehouse."""
    emptied: int = 0
    """Of `filled_before`, rows without a value in the load."""
    mistyped: int = 0
    """Changed rows whose value has an unexpected type."""
    new: int = 0
    """Rows that the warehouse didn't have."""
    new_mistyped: int = 0
    """Of `new`, rows whose value has an unexpected type."""
    usual_rows: int = 0
    """Rows of recent history."""
    usual: int = 0
    """Of `usual_rows`, rows that had a value when they were first seen."""


@dataclass(frozen=True)
class FieldViolation:
    """A field that lost its values: code in `reasons.VIOLATIONS`, field, counts."""

    code: str
    field: str
    where: str


DEFAULT_TOLERANCE = FieldTolerance()


def check_fields(
    found: Mapping[str, FieldFound], tolerance: FieldTolerance = DEFAULT_TOLERANCE
) -> list[FieldViolation]:
    """Return a violation for each field that lost its values, sorted by field.

    A field without values before passes, so that an accepted loss isn't held for review again.
    """
    violations = []
    for name, each in sorted(found.items()):
        if _emptied(each, tolerance):
            code = "field_mistyped" if 2 * each.mistyped > each.emptied else "field_emptied"
            lost = f"lost in {each.emptied} of {each.filled_before} rows that had a value"
        elif _new_mistyped(each, tolerance):
            code = "field_mistyped"
            lost = f"of another type in {each.new_mistyped} of {each.new} new rows"
        elif _new_empty(each, tolerance):
            code = "field_emptied"
            lost = (
                f"empty in {each.new} new rows, filled in {each.usual} of {each.usual_rows} before"
            )
        else:
            continue
        violations.append(FieldViolation(code, name, f"{name}: {lost}"))
    return violations


def _emptied(found: FieldFound, tolerance: FieldTolerance) -> bool:
    """Return whether rows that were read again lost too many values."""
    mistyped = min(found.mistyped, found.emptied)
    return (
        found.emptied >= tolerance.emptied_rows
        and found.emptied > tolerance.emptied_share * found.filled_before
    ) or mistyped > max(tolerance.mistyped_rows, tolerance.mistyped_share * found.filled_before)


def _new_mistyped(found: FieldFound, tolerance: FieldTolerance) -> bool:
    """Return whether too many new rows have an unexpected type while recent rows had values."""
    limit = max(tolerance.mistyped_rows, tolerance.mistyped_share * found.new)
    had_values = 2 * found.usual >= found.usual_rows
    return found.new_mistyped > limit and had_values


def _new_empty(found: FieldFound, tolerance: FieldTolerance) -> bool:
    """Return whether no row of the load has a value although recent rows had values."""
    return (
        min(found.new, found.usual_rows) >= tolerance.new_rows
        and not found.filled
        and found.usual >= tolerance.usual_share * found.usual_rows
    )
