"""Check that the fields of a load hold what they held before; pure.

A service that changes a field's type or name empties a column although each of its rows can be
read. Loads of invoices and mirrors count their fields alike and hold a load for review when a field
loses its values.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields


@dataclass(frozen=True)
class FieldTolerance:
    """How many values a field may lose in one load."""

    mistyped_rows: int = 2
    """So many rows may always have a value of another type."""
    mistyped_share: float = 0.05
    """Share of the rows with a value that may have one of another type."""
    emptied_rows: int = 3
    """Fewer rows may always lose their value."""
    emptied_share: float = 0.5
    """Share of the rows with a value that may lose it at once."""
    new_rows: int = 10
    """New rows, and rows of recent history, from which on empty fields of both are compared."""
    usual_share: float = 0.9
    """Share of recent history with a value from which on new rows without any are unusual."""


@dataclass
class FieldCounts:
    """Rows of a load by field, for the step's details: whatever the warehouse holds."""

    missing: Counter[str] = field(default_factory=Counter)
    """Rows whose value is null, absent or mistyped."""
    mistyped: Counter[str] = field(default_factory=Counter)
    """Rows whose value has another type than described, and more than one reading."""
    coerced: Counter[str] = field(default_factory=Counter)
    """Rows whose value has another type than described, and one reading."""

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
    """Of these, rows without a value in the load."""
    mistyped: int = 0
    """Rows read again, and changed, whose value has another type than described."""
    new: int = 0
    """Rows that the warehouse didn't have."""
    new_mistyped: int = 0
    """Of these, rows whose value has another type than described."""
    usual_rows: int = 0
    """Rows of recent history."""
    usual: int = 0
    """Of these, rows that had a value when they were first seen."""


@dataclass(frozen=True)
class FieldViolation:
    """A field that lost its values: the code in `reasons.VIOLATIONS`, the field, the counts."""

    code: str
    field: str
    where: str


DEFAULT_TOLERANCE = FieldTolerance()


def check_fields(
    found: Mapping[str, FieldFound], tolerance: FieldTolerance = DEFAULT_TOLERANCE
) -> list[FieldViolation]:
    """Return a violation for each field that lost its values, by the field's name.

    A field that had no values before is none: what was accepted once isn't held for review again.
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
    """Return whether rows that are read again lost too many values."""
    mistyped = min(found.mistyped, found.emptied)
    return (
        found.emptied >= tolerance.emptied_rows
        and found.emptied > tolerance.emptied_share * found.filled_before
    ) or mistyped > max(tolerance.mistyped_rows, tolerance.mistyped_share * found.filled_before)


def _new_mistyped(found: FieldFound, tolerance: FieldTolerance) -> bool:
    """Return whether new rows have too many values of another type, and recent ones had values."""
    limit = max(tolerance.mistyped_rows, tolerance.mistyped_share * found.new)
    had_values = 2 * found.usual >= found.usual_rows
    return found.new_mistyped > limit and had_values


def _new_empty(found: FieldFound, tolerance: FieldTolerance) -> bool:
    """Return whether no row of the load has a value although those of recent history had."""
    return (
        min(found.new, found.usual_rows) >= tolerance.new_rows
        and not found.filled
        and found.usual >= tolerance.usual_share * found.usual_rows
    )
