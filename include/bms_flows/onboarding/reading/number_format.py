"""Number formats of Excel: the displayed text of a stored number. Pure.

Files contain formats in English, whatever the language of Excel. Supported are digits, decimals,
thousands, percent, texts, conditions and sections. Fractions, powers of ten and unknown signs are
not supported: the display of their cells is unknown.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Final, Literal

Kind = Literal["number", "date", "duration", "unknown"]

_TOKEN: Final = re.compile(
    r"""(?P<text>"[^"]*")|(?P<char>\\.)|(?P<width>_.)|(?P<fill>\*.)|\[(?P<bracket>[^\]]*)\]
    |(?P<general>General)|(?P<date>AM/PM|A/P|[ymdhs]+)|(?P<digit>[0#?])|(?P<point>\.)
    |(?P<comma>,)|(?P<percent>%)|(?P<section>;)|(?P<cell>@)
    |(?P<plain>[-+$€£¥():!^&'~{}<>=\ \xa0\u202f])""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_LONGEST: Final = 255
"""Excel's own limit."""
_CONDITION: Final = re.compile(r"(<=|>=|<>|<|>|=)(-?[0-9]+(?:\.[0-9]+)?)")
_COMPARE: Final[Mapping[str, Callable[[Decimal, Decimal], bool]]] = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq,
    ">": operator.gt, ">=": operator.ge, "<>": operator.ne,
}  # fmt: skip
_DURATION: Final = re.compile(r"h+|m+|s+", re.IGNORECASE)
_CURRENCY: Final = re.compile(r"\$([^-]*)(?:-.*)?")
_COLOUR: Final = re.compile(
    r"black|blue|cyan|green|magenta|red|white|yellow|color ?[0-9]{1,2}", re.IGNORECASE
)
_SILENT: Final = re.compile(r"(?:[-+()€$£¥\s]|EUR|USD|GBP|CHF)*")
"""Text around a number that does not change its meaning: signs, blanks, currencies."""
_SECTIONS: Final = 4
_NO_NUMBER: Final = {"unknown", "date", "duration"}
_TOO_LONG: Final = Decimal(10) ** 15
"""Excel stores fifteen digits and replaces further digits by zeros."""


@dataclass(frozen=True)
class Display:
    """What a cell shows of a number.

    `text` is the displayed text, or None if it depends on the language of Excel (decimals,
    thousands). `number` is the number that the digits show, 80 for `80%`, or None without digits or
    with words around them. `exact` is false if the display rounds the stored number.
    """

    text: str | None
    number: Decimal | None
    percent: bool
    exact: bool


@dataclass(frozen=True)
class _Section:
    """A part of a format between semicolons: its tokens by kind, and when it counts."""

    tokens: Sequence[tuple[str, str]]
    condition: tuple[str, Decimal] | None

    @property
    def kinds(self) -> set[str]:
        return {kind for kind, _ in self.tokens}


def kind(code: str, number: Decimal) -> Kind:
    """Return what a cell of this format shows of `number`."""
    section = _section(code, number)
    kinds: tuple[Kind, ...] = ("duration", "date", "unknown")
    return next((each for each in kinds if section is None or each in section.kinds), "number")


def display(code: str, number: Decimal) -> Display | None:
    """Return what a cell of this format shows of `number`; None where the format isn't read."""
    section = _section(code, number)
    if section is None or section.kinds & _NO_NUMBER or abs(number) >= _TOO_LONG:
        return None
    if "general" in section.kinds or section.kinds == {"cell"}:
        return _general(section, number)
    return _digits(section, number, signed=number < 0 and _one_for_all(code))


def text_display(code: str, text: str) -> str | None:
    """Return what a cell of this format shows of a text; None where the format isn't read."""
    sections = _sections(code)
    if sections is None:
        return None
    last = sections[-1]
    if "cell" not in last.kinds and len(sections) < _SECTIONS:
        return text
    if last.kinds - {"cell", "literal"}:
        return None
    return "".join(text if kind == "cell" else value for kind, value in last.tokens)


def _one_for_all(code: str) -> bool:
    """Return whether one section is for numbers below zero as well: Excel puts the minus itself."""
    return len(_numeric(_sections(code) or ())) == 1


def _numeric(sections: Sequence[_Section]) -> Sequence[_Section]:
    """Return the sections for numbers: the last one may be for texts."""
    if len(sections) > 1 and ("cell" in sections[-1].kinds or len(sections) == _SECTIONS):
        return sections[:-1]
    return sections


def _section(code: str, number: Decimal) -> _Section | None:
    sections = _numeric(_sections(code) or ())
    if not sections:
        return None
    if any(each.condition for each in sections):
        # Negative numbers in formats with conditions are not supported: Excel's minus is hard to predict.
        return None if number < 0 else _conditional(sections, number)
    if number < 0 and len(sections) > 1:
        return sections[1]
    if number == 0 and len(sections) > 2:  # noqa: PLR2004 - positive, negative, zero
        return sections[2]
    return sections[0]


def _conditional(sections: Sequence[_Section], number: Decimal) -> _Section | None:
    for place, each in enumerate(sections):
        if each.condition is None and place + 1 < len(sections):
            continue  # a section without a condition is for negative numbers
        if each.condition is None or _COMPARE[each.condition[0]](number, each.condition[1]):
            return each
    return None


def _general(section: _Section, number: Decimal) -> Display:
    texts = "".join(
        f"{number:f}" if kind in ("general", "cell") else value for kind, value in section.tokens
    )
    words = "".join(value for kind, value in section.tokens if kind == "literal")
    whole = number == number.to_integral_value()
    plain = _SILENT.fullmatch(words) is not None
    return Display(texts if whole else None, number if plain else None, percent=False, exact=True)


def _digits(section: _Section, number: Decimal, *, signed: bool) -> Display:
    """Lay the digits of `number` out over a section's places, as Excel does: from the right."""
    tokens = section.tokens
    points = [place for place, (kind, _) in enumerate(tokens) if kind == "point"]
    point = points[0] if points else len(tokens)
    places = [n for n, (kind, _) in enumerate(tokens) if kind == "digit"]
    before, after = [n for n in places if n < point], [n for n in places if n > point]
    words = "".join(value for kind, value in tokens if kind == "literal")
    percents = sum(kind == "percent" for kind, _ in tokens)
    if not places:
        shown = "".join(value for kind, value in tokens if kind in ("literal", "percent"))
        return Display(shown, None, percent=percents > 0, exact=True)
    commas = [n for n, (kind, _) in enumerate(tokens) if kind == "comma"]
    grouped = any(n < before[-1] for n in commas) if before else False
    scaled = sum(n > places[-1] or (bool(before) and before[-1] < n < point) for n in commas)
    full = abs(number) * 100**percents / 1000**scaled
    rounded = full.quantize(Decimal(1).scaleb(-len(after)), ROUND_HALF_UP)
    whole = f"{rounded:f}".partition(".")[0]
    text = None
    if not (grouped or points):
        text = ("-" if signed else "") + _filled(tokens, places, whole)
    plain = _SILENT.fullmatch(words) is not None and len(points) <= 1 and bool(before)
    shown_number = rounded.copy_sign(number) if rounded else Decimal(0)
    return Display(
        text,
        shown_number if plain else None,
        percent=percents > 0,
        exact=rounded == full and not scaled,
    )


def _filled(tokens: Sequence[tuple[str, str]], places: Sequence[int], whole: str) -> str:
    """Return a section's text with the digits of a whole number in its places."""
    digits = list(whole.lstrip("0"))
    filled: dict[int, str] = {}
    for place in reversed(places):
        blank = {"0": "0", "?": " "}.get(tokens[place][1], "")
        filled[place] = digits.pop() if digits else blank
    filled[places[0]] = "".join(digits) + filled[places[0]]
    return "".join(
        filled.get(place, "" if kind == "comma" else value)
        for place, (kind, value) in enumerate(tokens)
    )


@lru_cache(maxsize=1_024)
def _sections(code: str) -> tuple[_Section, ...] | None:
    """Return a format cut into its sections; None for what Excel wouldn't take."""
    if len(code) > _LONGEST:
        return None
    sections: list[_Section] = []
    tokens: list[tuple[str, str]] = []
    condition: tuple[str, Decimal] | None = None
    position = 0
    while position <= len(code):
        found = _TOKEN.match(code, position)
        if position == len(code) or (found and found["section"]):
            sections.append(_Section(tuple(tokens), condition))
            tokens, condition = [], None
            position += 1
            continue
        if found is None:
            tokens.append(("unknown", ""))
            position += 1
            continue
        position = found.end()
        if found["bracket"] is not None and (limit := _CONDITION.fullmatch(found["bracket"])):
            condition = limit[1], Decimal(limit[2])
        else:
            tokens += _read(found)
    return tuple(sections) if len(sections) <= _SECTIONS else None


def _read(found: re.Match[str]) -> list[tuple[str, str]]:
    """Return a sign of a format as its kind and what it shows."""
    name, sign = str(found.lastgroup), found[0]
    if name == "bracket":
        return _bracket(found["bracket"])
    return {
        "text": [("literal", sign[1:-1])],
        "char": [("literal", sign[1:])],
        "width": [("literal", " ")],
        "fill": [],
        "plain": [("literal", sign)],
    }.get(name, [(name, sign)])


def _bracket(content: str) -> list[tuple[str, str]]:
    if _DURATION.fullmatch(content):
        return [("duration", "")]
    if currency := _CURRENCY.fullmatch(content):
        return [("literal", currency[1])]
    return [] if _COLOUR.fullmatch(content) else [("unknown", "")]
