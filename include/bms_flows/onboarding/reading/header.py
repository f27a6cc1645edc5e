"""Header of a table: its row below titles, the field of each column, the nearest field of an unknown one."""

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from bms_flows.onboarding.faults import Fault, ReadError
from bms_flows.onboarding.reading.encoding import is_damaged
from bms_flows.onboarding.reading.sheet import is_report_column
from bms_flows.onboarding.resources.description import Field, Resource, normalize_header
from bms_flows.onboarding.resources.normal_forms import NAMES
from bms_flows.onboarding.resources.remotes import REMOTES

ROWS: Final = 10
"""Filled rows above a header that may be titles."""
_FEWEST_HEADERS: Final = 2
_TITLE_CELLS: Final = 2
_LANGUAGES: Final = re.compile(r"[/|\n]|\s[-–—]\s|\s\((?=[^()]*\)\s*$)")  # noqa: RUF001 - as users write
"""What separates a header's languages, as in `Nom / Last name` or `Nom (Last name)`."""
_FIGURES: Final = re.compile("[0-9@]")
_SMALL_WORDS: Final = frozenset(
    {"d", "de", "des", "du", "en", "et", "l", "la", "le", "les", "of", "the"}
)
_MAIL: Final = frozenset({"courriel", "email", "mail", "messagerie"})
_MANAGER: Final = frozenset({"manager", "n+1", "responsable", "superviseur", "supervisor"})
_NEGATIONS: Final = frozenset({"exclu", "exclude", "no", "non", "not", "pas", "sans"})
_FULL_NAMES: Final = (
    *({"identite"}, {"identity"}, {"full", "name"}),
    *({"nom", "prenom"}, {"nom", "prenoms"}, {"nom", "complet"}),
)
"""Words of headers of columns with whole names."""
_LIKE: Final = 0.8
"""Similarity from which two headers are the same one mistyped."""
_LIKE_WORD: Final = 0.6
"""The same for each of their words: a Nom responsable is no Id responsable."""
_LONG: Final = 4
_TELLING: Final = 5
"""Letters of a known header's only word that show its field in a longer header."""
_PROPOSED: Final = 3
_EXAMPLES: Final = 6
"""Columns that the fault of a file for another inbox names."""


@dataclass(frozen=True)
class HeaderColumns:
    """The field of each column, and what is wrong with the columns.

    A field is None for a column that is passed over. An unknown column is read as the only field that
    is near, so that the faults of its cells are found too. `unnamed` columns have no header,
    `strangers` one that is near no field.
    """

    fields: tuple[str | None, ...]
    unnamed: tuple[int, ...] = ()
    strangers: tuple[int, ...] = ()
    faults: tuple[Fault, ...] = field(default=())


def known_headers(headers: Sequence[str], resource: Resource) -> int:
    """Return how many of `headers` name a field of `resource`."""
    return sum(field_of(header, resource) is not None for header in headers)


def has_names(row: Sequence[str], resource: Resource) -> bool:
    """Return whether a header is, or may be, that of a column of persons' names."""
    known = {each: field_of(each, resource) for each in row}
    return any(
        field.name in NAMES
        for each, found in known.items()
        for field in ([found] if found else nearest(each, resource))
    )


def is_header(row: Sequence[str], resource: Resource) -> bool:
    """Return whether most filled cells of a row, and at least two, name different fields."""
    named = _named(row, resource)
    return named >= _FEWEST_HEADERS and 2 * named > _filled(row)


def place_of_header(rows: Sequence[Sequence[str]], resource: Resource) -> int:
    """Return the place of the header among the first filled rows: the one below titles with most fields, or the first.

    A header in the middle of sorted rows is none: titles have two cells at most, or few and no figures.
    """
    headers = [n for n, row in enumerate(rows[: ROWS + 1]) if is_header(row, resource)]
    place = max(headers, key=lambda n: _named(rows[n], resource), default=0)
    width = _filled(rows[place])
    return place if all(_is_title(row, width) for row in rows[:place]) else 0


def field_of(header: str, resource: Resource) -> Field | None:
    """Return the field that a header names; in two languages, each must name the same one."""
    if found := _known(header, resource):
        return found
    named = {each.name if each else None for each in _in_each_language(header, resource)}
    return resource.by_name.get(named.pop() or "") if len(named) == 1 else None


def nearest(header: str, resource: Resource) -> Sequence[Field]:
    """Return the fields whose headers are like an unknown one, the nearest first; one if it is clearly meant."""
    if _is_full_name(header):
        return [resource.by_name[name] for name in NAMES]
    if found := [each for each in _in_each_language(header, resource) if each]:
        return list(dict.fromkeys(found))
    plain, words = normalize_header(header), _words(header)
    ratios: dict[str, float] = {}
    likeness = difflib.SequenceMatcher(None, b=plain)
    # "Nom du manager" names no column in particular: each column that identifies the manager is proposed.
    managers = _managers(resource) if not _MANAGER.isdisjoint(words) else ()
    # "Adresse mail" names no street, and does not show whose address it is.
    mail = not _MAIL.isdisjoint(words)
    addresses = [
        each for each in managers or resource.fields if mail and each.name.endswith("email")
    ]
    if managers:
        return addresses or managers
    for known in addresses or resource.fields:
        for alias in (known.name.replace("_", " "), *known.aliases):
            if known.kind == "boolean" and _is_negative(words) != _is_negative(_words(alias)):
                continue
            likeness.set_seq1(normalize_header(alias))
            mistyped = len(plain) >= _LONG and likeness.quick_ratio() >= _LIKE <= likeness.ratio()
            meant = _abbreviates(words, _words(alias)) or _contains(words, _words(alias))
            if (mistyped and _alike(words, _words(alias))) or (meant and not addresses):
                ratios[known.name] = max(likeness.ratio(), ratios.get(known.name, 0))
    ranked = sorted(ratios, key=lambda name: -ratios[name])
    if ranked and ratios[ranked[0]] >= _LIKE:
        ranked = ranked[:1]
    return [resource.by_name[name] for name in ranked[:_PROPOSED]] or addresses


def check_inbox(rows: Sequence[Sequence[str]], resource: Resource) -> None:
    """Raise `ReadError` if the header among the first rows is that of another inbox's files.

    Headers that only one of the two resources has are evidence, those of required fields twice. A
    column of the user's own may have such a header, too, so a file that fits its inbox needs two.
    """
    best: tuple[int, Resource, list[Field]] | None = None
    for other in (each.resource for each in REMOTES.values()):
        header = rows[place_of_header(rows, other)]
        named = [(field_of(each, resource), field_of(each, other)) for each in header]
        ours = {field.name for field, theirs in named if field and not theirs}
        theirs = [field for own, field in named if field and not own]
        if (best and len(theirs) <= best[0]) or not theirs:
            continue
        lacking = set(resource.required) - {field.name for field, _ in named if field}
        absent = set(other.required) - {field.name for _, field in named if field}
        against = len(ours) + len(ours.intersection(resource.required)) + len(absent)
        weight = len(theirs) + len({each.name for each in theirs}.intersection(other.required))
        if weight > 2 * against and (weight > 1 or lacking):
            best = len(theirs), other, theirs
    if best:
        _, other, theirs = best
        columns = ", ".join(each.label for each in theirs[:_EXAMPLES])
        details = {"resource": other.name, "what": other.inbox, "inbox": other.inbox}
        raise ReadError("other_inbox", **details, columns=columns)


def header_columns(headers: Sequence[str], resource: Resource, line: int) -> HeaderColumns:
    """Find each column's field; repeated ones, and unknown ones near a field, are faults of the header's line."""
    known = [field_of(header, resource) for header in headers]
    if not any(known):
        return HeaderColumns((None,) * len(headers), faults=(Fault("no_header", line),))
    taken = {each.name for each in known if each}
    fields: list[str | None] = []
    unnamed: list[int] = []
    strangers: list[int] = []
    faults: list[Fault] = []
    for place, (header, found) in enumerate(zip(headers, known, strict=True)):
        name = found.name if found else None
        if name is not None and name in fields:
            faults.append(Fault("duplicate_header", line, header, name))
        elif not header.strip():
            unnamed.append(place)
        elif name is None and not is_report_column(header):
            near = () if is_damaged(header) else _near(header, resource, taken)
            if len(near) == 1 and near[0].name not in taken:
                name = near[0].name
                taken.add(name)
            if is_damaged(header):
                faults.append(Fault("mojibake", line, header))
            elif near:
                labels = ", ".join(each.label for each in near)
                code = "full_name_column" if _is_full_name(header) else "unknown_column"
                faults.append(Fault(code, line, header, name, {"nearest": labels}))
            else:
                strangers.append(place)
        fields.append(name)
    return HeaderColumns(tuple(fields), tuple(unnamed), tuple(strangers), tuple(faults))


def repeats(row: Sequence[str], fields: Sequence[str | None], resource: Resource) -> bool:
    """Return whether a row below the header is a header again, such as the same one in another language."""
    filled, named, others = _filled(row), 0, 0
    for cell, name in zip(row, fields, strict=False):
        if not cell.strip():
            continue
        found = field_of(cell, resource)
        if found and found.name != name:
            return False
        named, others = (named + 1, others) if found else (named, others + 1)
        if 2 * others >= filled:  # the rest can't change that: rows below the header are many
            return False
    return named >= _FEWEST_HEADERS and 2 * named > filled


def _in_each_language(header: str, resource: Resource) -> list[Field | None]:
    parts = _LANGUAGES.split(header)
    named = [each for each in parts if len(parts) > 1 and normalize_header(each)]
    return [_known(each, resource) for each in named]


def _known(header: str, resource: Resource) -> Field | None:
    """Return the field with a header; Identité is not Id entité."""
    found = resource.by_header.get(normalize_header(header))
    return None if found and _is_full_name(header) else found


def _is_full_name(header: str) -> bool:
    return {*_words(header)} in _FULL_NAMES


def _is_title(row: Sequence[str], width: int) -> bool:
    few = _filled(row) <= width // 2 and not any(map(_FIGURES.search, row))
    return few or _filled(row) <= _TITLE_CELLS


def _filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _named(row: Sequence[str], resource: Resource) -> int:
    return len({found.name for cell in row if (found := field_of(cell, resource))})


def _near(header: str, resource: Resource, taken: Collection[str]) -> Sequence[Field]:
    """Return the nearest fields; none if columns of their own have the names, or identify the manager."""
    near, managers = nearest(header, resource), _managers(resource)
    if _is_full_name(header):
        return [] if {*NAMES} <= {*taken} else near
    identified = any(each.name in taken for each in managers)
    return [] if identified and near == managers else near


def _managers(resource: Resource) -> Sequence[Field]:
    return [each for each in resource.fields if "manager" in each.name]


def _words(header: str) -> list[str]:
    found = re.findall(r"n\s*\+\s*1\b|[^\W_]+", header, re.IGNORECASE)
    words = ["n+1" if "+" in word else normalize_header(word) for word in found]
    return [word for word in words if word and word not in _SMALL_WORDS]


def _is_negative(words: Collection[str]) -> bool:
    return not _NEGATIONS.isdisjoint(words)


def _alike(words: Sequence[str], known: Sequence[str]) -> bool:
    """Return whether each word may be that of a known header mistyped; with a missing space, all may be."""
    pairs = zip(words, known, strict=False)
    return len(words) != len(known) or all(
        difflib.SequenceMatcher(None, *pair).ratio() >= _LIKE_WORD for pair in pairs
    )


def _abbreviates(words: Collection[str], known: Collection[str]) -> bool:
    """Return whether each word begins a word of a known header: E-mail pro, Date."""
    long = any(len(word) >= _LONG for word in words)
    return long and all(any(each.startswith(word) for each in known) for word in words)


def _contains(words: Collection[str], known: Collection[str]) -> bool:
    """Return whether a header has the words of a known one, and others: Date d'entrée prévue."""
    telling = len(known) > 1 or any(len(word) >= _TELLING for word in known)
    return bool(known) and telling and {*known} <= {*words}
