"""Layout of invoice numbers: texts, and groups of digits with dates and a counter; pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

DATES: Final = {
    "%Y%m%d": slice(0, 8),
    "%y%m%d": slice(2, 8),
    "%Y%m": slice(0, 6),
    "%y%m": slice(2, 6),
    "%Y": slice(0, 4),
    "%y": slice(2, 4),
    "%m": slice(4, 6),
}
"""Forms of a date in a group of digits, as parts of the whole date; a month alone fills its group."""
NAMES: Final = {"%Y": "YYYY", "%y": "YY", "%m": "MM", "%d": "DD"}
SAMPLE: Final = 400
"""References that show the meaning of the groups."""
AGREEING: Final = 0.95
"""Share of them that must agree with a date."""


@dataclass(frozen=True)
class Layout:
    """Meaning of the digit groups of references with the same texts."""

    texts: tuple[str, ...]
    dates: Mapping[int, str]
    """Form of the date at the start of a group, by the group's position."""
    counter: int

    def split(self, groups: Sequence[pa.Array]) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return the date parts and the prefixes of references, each joined by NUL, and the counters."""
        rest = [*groups]
        periods = []
        for position, form in self.dates.items():
            length = _length(form)
            periods.append(pc.utf8_slice_codeunits(rest[position], 0, length))
            rest[position] = pc.utf8_slice_codeunits(rest[position], length)
        written = rest.pop(self.counter)
        return _joined(periods, len(written)), _joined(rest, len(written)), written

    def join(self, periods: Sequence[str], prefix: Sequence[str], written: str) -> str:
        """Return the reference with these parts."""
        groups = [*prefix]
        groups.insert(self.counter, written)
        for position, period in zip(self.dates, periods, strict=True):
            groups[position] = period + groups[position]
        return self.texts[0] + "".join(
            group + text for group, text in zip(groups, self.texts[1:], strict=True)
        )

    def pattern(self, prefix: Sequence[str], width: int) -> str:
        """Return the form of the references, such as ``FA{YYYY}-{00000}``."""
        periods = [
            f"{{{re.sub('%.', lambda part: NAMES[part[0]], form)}}}" for form in self.dates.values()
        ]
        return self.join(periods, prefix, f"{{{'0' * width}}}")


def learn_layout(
    texts: tuple[str, ...], groups: Sequence[pa.Array], dated: pa.ChunkedArray
) -> Layout | None:
    """Return the meaning of the groups, None if no group can be the counter."""
    sample = slice(None, None, len(dated) // SAMPLE + 1)
    days = pc.strftime(dated[sample], format="%Y%m%d").to_pylist()
    written = [group[sample].to_pylist() for group in groups]
    dates = {}
    for position, column in enumerate(written):
        for form, part in DATES.items():
            agreeing = sum(
                digits.startswith(day[part]) and (form != "%m" or len(digits) == _length(form))
                for digits, day in zip(column, days, strict=True)
            )
            if agreeing >= AGREEING * len(days):
                dates[position] = form
                break
    values = [
        len({digits[_length(dates.get(position, "")) :] for digits in column} - {""})
        for position, column in enumerate(written)
    ]
    # The last of equals: a prefix precedes the counter.
    counter = max(range(len(values)), key=lambda position: (values[position], position))
    return Layout(texts, dates, counter) if any(values) else None


def texts_between(references: pa.Array) -> pa.Array:
    """Return each reference with 0 in place of each group of digits, null for one without digits."""
    texts = pc.replace_substring_regex(references, "[0-9]+", "0")
    return pc.if_else(pc.match_substring(texts, "0"), texts, None)


def digit_groups(references: pa.Array, texts: Sequence[str]) -> list[pa.Array]:
    """Return the groups of digits of references with the same `texts` between them."""
    first, *rest = map(re.escape, texts)
    groups = "".join(f"(?P<g{n}>[0-9]+){text}" for n, text in enumerate(rest))
    found: list[pa.Array] = pc.extract_regex(references, f"^{first}{groups}$").flatten()
    return found


def _joined(columns: Sequence[pa.Array], count: int) -> pa.Array:
    if len(columns) == 1:
        return columns[0]
    return pc.binary_join_element_wise(*columns, "\0") if columns else pa.repeat("", count)


def _length(form: str) -> int:
    return DATES[form].stop - DATES[form].start if form else 0
