"""Mapping of header cells to fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.reading.encoding import is_damaged
from bms_flows.onboarding.reading.sheet import REPORT_COLUMNS
from bms_flows.onboarding.resources.description import Resource, normalize_header

_FEWEST: Final = 2


@dataclass(frozen=True)
class Columns:
    """The field of each column, None for one that is passed over, and what is wrong with them."""

    fields: tuple[str | None, ...]
    unnamed: tuple[int, ...]
    faults: tuple[Fault, ...]


def is_report(header: str) -> bool:
    """Return whether a reject file added this column."""
    return header.strip().casefold() in REPORT_COLUMNS


def known(headers: Sequence[str], resource: Resource) -> int:
    """Return how many of `headers` name a field of `resource`."""
    return sum(normalize_header(header) in resource.by_header for header in headers)


def is_header(row: Sequence[str], resource: Resource) -> bool:
    """Return whether most filled cells of a row, and at least two, name different fields."""
    filled = [normalize_header(cell) for cell in row if cell.strip()]
    named = {resource.by_header[cell].name for cell in filled if cell in resource.by_header}
    return len(named) >= _FEWEST and 2 * len(named) > len(filled)


def columns(headers: Sequence[str], resource: Resource, line: int) -> Columns:
    """Find each column's field; unknown and repeated ones are faults of the header's line."""
    if not known(headers, resource):
        return Columns((None,) * len(headers), (), (Fault("no_header", line),))
    fields: list[str | None] = []
    unnamed: list[int] = []
    faults: list[Fault] = []
    for place, header in enumerate(headers):
        field = resource.by_header.get(normalize_header(header))
        name = field.name if field else None
        if name is None and not header.strip():
            unnamed.append(place)
        elif name is None and not is_report(header):
            code = "mojibake" if is_damaged(header) else "unknown_column"
            faults.append(Fault(code, line, header))
        elif name is not None and name in fields:
            faults.append(Fault("duplicate_header", line, header, name))
        fields.append(name)
    return Columns(tuple(fields), tuple(unnamed), tuple(faults))
