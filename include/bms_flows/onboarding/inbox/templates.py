"""Files provided in an inbox: _LISEZMOI.txt and templates with all columns and an example row.

A star marks a required column: reading a header ignores punctuation, so a filled-in template is read.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final, Literal

from upath import UPath

from bms_flows.onboarding.inbox import unclaimed
from bms_flows.onboarding.inbox.discovery import head, local
from bms_flows.onboarding.reading import tokens
from bms_flows.onboarding.reading.encoding import ENCODINGS
from bms_flows.onboarding.reading.numbers_and_dates import (
    WRITTEN_DATES,
    WRITTEN_NUMBERS,
    parse_date,
)
from bms_flows.onboarding.reading.parts import TEXT
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.xlsx_writer import ALL_TEXT, SheetRow, text, xlsx_file
from bms_flows.onboarding.resources.description import Field, Resource
from bms_flows.onboarding.settings import UNDECLARED, DeclaredFormat
from bms_flows.runtime.settings import Language
from bms_flows.runtime.storage import NotRegularFile, write_if_changed
from bms_flows.texts import ADVICE, FRENCH_WORDS, KINDS, typeset
from bms_flows.texts import READ_ME as READ_ME_TEXTS

READ_ME = "_LISEZMOI.txt"
LANGUAGES: Final[tuple[Language, ...]] = ("FR", "EN")
READABLE = 0o644
_DATES = {
    "dmy": "31/12/2026, 2026-12-31",
    "mdy": "12/31/2026, 2026-12-31",
    "ymd": "2026-12-31",
}
_STRFTIME: Final[Mapping[Literal["dmy", "mdy", "ymd"], str]] = {
    "dmy": "%d/%m/%Y",
    "mdy": "%m/%d/%Y",
    "ymd": "%Y-%m-%d",
}


def names(resource: Resource) -> frozenset[str]:
    """Return the names of our own files in an inbox."""
    return frozenset({READ_ME, csv_name(resource), xlsx_name(resource), unclaimed.NAME})


def csv_name(resource: Resource) -> str:
    """Return the name of the CSV template."""
    return f"_modele_{resource.inbox}.csv"


def xlsx_name(resource: Resource) -> str:
    """Return the name of the workbook template."""
    return f"_modele_{resource.inbox}.xlsx"


class InboxGone(FileNotFoundError):
    """The folder of an inbox does not exist any more: an empty new one would hide that no file arrives."""

    def __init__(self, folder: str, number: int) -> None:
        super().__init__(
            f"{folder} does not exist, although drop {number} came from an inbox of this warehouse: is the volume"
            " of BMS_DATA_ROOT mounted? For a new data root, create this folder"
        )


def provide(
    inbox: UPath,
    resource: Resource,
    declared: DeclaredFormat = UNDECLARED,
    *,
    page: str,
    last: Callable[[], int | None] = lambda: None,
) -> None:
    """Create the inbox and write its files where they are missing or differ; safe to repeat.

    A template that a user filled in and saved there stays. `page` is the address of the page that lists the drops of the inbox.

    `last` returns the inbox's last drop; with one, a folder that does not exist raises `InboxGone`.

    A folder is group-writable whatever the umask is; its files contain no personal data and are
    readable by all users.
    """
    here = local(inbox)
    if here is not None and not here.exists():
        if (number := last()) is not None:
            raise InboxGone(inbox.path, number)
        here.mkdir(parents=True, exist_ok=True)
        here.chmod(0o770)
    files = _templates(resource, declared) | {READ_ME: read_me(resource, declared, page=page)}
    for name in files.keys() - filled_in(inbox, resource, declared):
        write_if_changed(inbox / name, files[name], READABLE)


def filled_in(
    inbox: UPath, resource: Resource, declared: DeclaredFormat = UNDECLARED
) -> frozenset[str]:
    """Return the names of the templates that hold other rows than the example."""
    formats = [DeclaredFormat(order, mark) for order in _STRFTIME for mark in (",", ".")]
    examples = {"", *(_example(each, given) for each in resource.fields for given in formats)}
    found = set[str]()
    for name, content in _templates(resource, declared).items():
        with suppress(FileNotFoundError, PermissionError, NotRegularFile, IsADirectoryError):
            if (there := head(inbox / name)) != content:
                rows = read(there, name, resource, declared).rows
                found |= {name for row in rows if not examples.issuperset(row.cells)}
    return frozenset(found)


def _templates(resource: Resource, declared: DeclaredFormat) -> dict[str, bytes]:
    return {
        csv_name(resource): csv_template(resource, declared),
        xlsx_name(resource): xlsx_template(resource, declared),
    }


def csv_template(resource: Resource, declared: DeclaredFormat = UNDECLARED) -> bytes:
    """Return a CSV as French Excel writes and opens it: `;`, UTF-8 with its mark, CRLF."""
    rows = _rows(resource, declared)
    text = "".join(";".join(tokens.quoted(cell, ";") for cell in row) + "\r\n" for row in rows)
    return ENCODINGS["utf-8-sig"].encode(text)


def xlsx_template(resource: Resource, declared: DeclaredFormat = UNDECLARED) -> bytes:
    """Return a workbook whose columns are text, so that Excel changes no number and no date."""
    lines = [SheetRow([text(cell, TEXT) for cell in row]) for row in _rows(resource, declared)]
    return xlsx_file(resource.inbox, lines, ALL_TEXT)


def _rows(resource: Resource, declared: DeclaredFormat) -> list[list[str]]:
    """Return the header and the example row, written as the inbox declares."""
    fields = resource.fields
    headers = [f"{field.label}{' *' * (field.name in resource.required)}" for field in fields]
    return [headers, [_example(each, declared) for each in fields]]


def _example(field: Field, declared: DeclaredFormat) -> str:
    if field.kind == "date" and field.example:
        return f"{parse_date(field.example, 'dmy'):{_STRFTIME[declared.date_order]}}"
    if field.kind == "decimal" and declared.decimal_mark == ".":
        return field.example.replace(",", ".")
    return field.example


def read_me(resource: Resource, declared: DeclaredFormat = UNDECLARED, *, page: str) -> bytes:
    """Return the inbox's instructions, first in French, for Notepad: UTF-8 with its mark, CRLF."""
    french, english = (
        READ_ME_TEXTS["instructions"][language].format(
            inbox=resource.inbox,
            page=page,
            csv=csv_name(resource),
            xlsx=xlsx_name(resource),
            formats=_formats(declared, language),
            skipped_files=unclaimed.NAME,
            advice=ADVICE[resource.name][language] if resource.name in ADVICE else "",
        )
        for language in LANGUAGES
    )
    title, lines = resource.title, typeset("".join(_lines(resource, declared)))
    text = f"{title}\n{'=' * len(title)}\n\n{french}{lines}\n{english}"
    return ENCODINGS["utf-8-sig"].encode(text.replace("\n", "\r\n"))


def _formats(declared: DeclaredFormat, language: Language) -> str:
    """Return how dates and numbers are to be written."""
    texts = {code: text[language] for code, text in READ_ME_TEXTS.items()}
    examples = _DATES[declared.date_order].replace(", ", f" {texts['or']} ")
    order = WRITTEN_DATES[declared.date_order]
    written = {"Dates": f"{FRENCH_WORDS[order] if language == 'FR' else order} ({examples})"}
    if declared.decimal_mark is not None:
        written[texts["numbers"]] = WRITTEN_NUMBERS[declared.decimal_mark]
    lines = (texts["declared"].format(what=what, written=each) for what, each in written.items())
    return "".join(f"{line}\n" for line in lines)


def _lines(resource: Resource, declared: DeclaredFormat) -> Iterator[str]:
    decimal = f"2850{declared.decimal_mark or ','}50"
    for field in resource.fields:
        star = "*" if field.name in resource.required else " "
        kind = KINDS[field.kind].format(decimal=decimal, date=_DATES[declared.date_order])
        yield f"{star} {field.label} [{field.name}] : {kind}{_others(field)}\n"


def _others(field: Field) -> str:
    return f" ; aussi / also: {', '.join(field.aliases[1:])}" if field.aliases[1:] else ""
