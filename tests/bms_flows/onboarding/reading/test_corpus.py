"""Corpus of files as common programs write them: every cell is read right or refused."""

# ruff: noqa: RUF001 - typographic signs are part of the corpus

import csv
import io
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.settings import DeclaredFormat

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252")
DELIMITERS = (";", ",", "\t")
LINE_ENDS = ("\r\n", "\n", "\r")
DATES = ("%Y-%m-%d", "%Y-%m-%d 00:00:00", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%Y", "%m/%d/%Y")
QUOTING = (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
NUMBERS = ("comma", "point", "spaced")
HEADERS = ("alias", "name", "shouted")

FIELDS = (
    "payroll_number",
    "last_name",
    "first_name",
    "start_date",
    "birth_date",
    "salary_base",
    "vehicle_price_per_km",
    "id_entity",
    "is_consultant",
    "address",
    "postal_code",
    "social_security_number",
)
PROVING: list[tuple[Any, ...]] = [
    ("004217", "NA", "Aurélie", date(2026, 8, 31), date(1994, 5, 17), "2850.50", "0.661", 1, True,
     "12 rue de l’Église\nBâtiment B", "01000", "2 94 05 01 053 001 00"),
    ("000", "Null", 'Jean "Jo"', date(2026, 3, 4), date(1988, 11, 3), "12345.6", "0.5", 2, False,
     "place; du, Marché\tNord", "06000", "1 88 11 06 088 002 11"),
    ("0E5", "None", "Maëlys", date(2027, 1, 1), date(2000, 2, 29), "900", "1.25", 1, None,
     "@SOMME(A1)", "97400", None),
    ("A-1", "L'Hôpital", "Noémie œuf", date(2026, 12, 12), date(1999, 12, 31), None, None, 2, True,
     "  quai Sébastien-Vauban ", "2A004", None),
]  # fmt: skip
SWAPPABLE = [
    (*row[:3], date(2026, 3, 4 + n), date(1988, 11, 3 + n), *row[5:])
    for n, row in enumerate(PROVING)
]


@dataclass(frozen=True)
class Style:
    encoding: str
    delimiter: str
    line_end: str
    dates: str
    quoting: int
    numbers: str
    headers: str

    def file(self, rows: list[tuple[Any, ...]]) -> bytes:
        stream = io.StringIO(newline="")
        writer = csv.writer(
            stream,
            delimiter=self.delimiter,
            lineterminator=self.line_end,
            quoting=self.quoting,  # type: ignore[arg-type]
        )
        writer.writerow([self._header(name) for name in FIELDS])
        for row in rows:
            writer.writerow(
                [self._cell(value, name) for value, name in zip(row, FIELDS, strict=True)]
            )
        mark = "\ufeff" if self.encoding == "utf-16-be" else ""
        return (mark + stream.getvalue()).encode(self.encoding)

    def _header(self, name: str) -> str:
        alias = EMPLOYEE.by_name[name].aliases[0]
        return {"name": name, "alias": alias, "shouted": f" {alias.upper()} "}[self.headers]

    def _cell(self, value: Any, name: str) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return "oui" if value else "NON"
        if isinstance(value, date):
            return value.strftime(self.dates)
        if EMPLOYEE.by_name[name].kind == "decimal":
            return self._number(value)
        if name in ("payroll_number", "postal_code") and self.headers == "shouted":
            return f'="{value}"'  # by which exports keep zeros
        return str(value)

    def _number(self, value: str) -> str:
        if self.numbers == "point":
            return value
        whole, _, cents = value.partition(".")
        if self.numbers == "spaced":
            whole = f"{int(whole):,}".replace(",", "\xa0")
        return f"{whole},{cents}" if cents else whole

    @property
    def declared(self) -> DeclaredFormat:
        return DeclaredFormat("mdy" if self.dates.startswith("%m") else "dmy")


STYLES = [
    Style(*parts)
    for parts in itertools.product(
        ENCODINGS, DELIMITERS, LINE_ENDS, DATES, QUOTING, NUMBERS, HEADERS
    )
    # Python's writer does not quote "\n" where lines end in "\r"; no reader can distinguish them.
    if parts[2] != "\r" or parts[4] == csv.QUOTE_ALL
]
each_style = pytest.mark.parametrize(
    "styles",
    [
        pytest.param(STYLES[::11], id="each eleventh"),  # has every three properties together
        pytest.param(STYLES, marks=pytest.mark.prove, id="all"),
    ],
)


def weigh(sheet: Sheet, rows: list[tuple[Any, ...]], seen: Counter[str]) -> None:
    """Count each cell as right, empty, refused by name or silently wrong."""
    assert sheet.file_faults == ()
    assert [row.line for row in sheet.rows] == list(range(2, 2 + len(rows)))
    faults = {(fault.line, fault.field): fault.code for fault in sheet.faults}
    for row, truth in zip(sheet.rows, rows, strict=True):
        for name, value in zip(FIELDS, truth, strict=True):
            expected = value.strip() if isinstance(value, str) else value
            if EMPLOYEE.by_name[name].kind == "decimal" and value is not None:
                expected = Decimal(value)
            found = row.values.get(name)
            code = faults.get((row.line, name))
            right = found == expected and type(found) is type(expected)
            seen[f"refused: {code}" if code else "right" if right else "wrong"] += 1


@each_style
@pytest.mark.parametrize("rows", [PROVING, SWAPPABLE], ids=["proving dates", "swappable dates"])
def test_every_cell_is_right_whatever_the_style(
    rows: list[tuple[Any, ...]], styles: Sequence[Style], figure: Callable[[str], None]
) -> None:
    """0.661 next to 2850.50: the leading zero and the other cells determine the decimal mark."""
    seen: Counter[str] = Counter()
    for style in styles:
        weigh(read(style.file(rows), "a.csv", EMPLOYEE, style.declared), rows, seen)
    figure(f"CSV corpus: {len(styles)} files, cells {dict(seen)}")
    assert seen == {"right": len(styles) * len(rows) * len(FIELDS)}


@each_style
def test_american_dates_in_a_french_inbox_are_refused(
    styles: Sequence[Style], figure: Callable[[str], None]
) -> None:
    seen: Counter[str] = Counter()
    for style in (each for each in styles if each.dates == "%m/%d/%Y"):
        weigh(read(style.file(PROVING), "a.csv", EMPLOYEE), PROVING, seen)
    figure(f"CSV corpus, American dates in a French inbox: cells {dict(seen)}")
    assert set(seen) == {"right", "refused: contradicting_dates"}


NAMES = ("Aurélie", "Théo", "Maëlys", "Loïc", "Benoît", "Brûlé", "Françoise", "Hélène", "Gaëlle",
         "Jérôme", "Noël", "sœur")  # fmt: skip
OTHERS = [
    (encoding, name)
    for encoding in ("cp850", "mac_roman", "latin-1", "iso8859-15")
    for name in NAMES
    if name.encode(encoding, errors="ignore").decode(encoding) == name
]


@pytest.mark.parametrize(("encoding", "name"), OTHERS)
def test_other_encodings_are_right_or_refused(encoding: str, name: str) -> None:
    content = f"Nom;Prénom\nX;{name}\n".encode(encoding)
    sheet = read(content, "a.csv", EMPLOYEE)
    found = [row.values.get("first_name") for row in sheet.rows if not sheet.faults_of(row)]
    assert found in ([], [name])


SHOWN_BY_THE_FILE = (
    "Noël;María",
    "López;José",
    "Müller;Août",
    "Sœur;Gödel",
    "Straße;Château",
    "FRANÇOIS;Brûlé",
)


@pytest.mark.parametrize("encoding", ["mac_roman", "cp850"])
@pytest.mark.parametrize("name", SHOWN_BY_THE_FILE)
def test_a_file_in_another_encoding_is_refused_as_a_whole(encoding: str, name: str) -> None:
    """The letters of one name may look right; those of all names together don't."""
    rows = ["Nom;Prenom", name, "Lefebvre;Aurélie", "Martin;Jérôme", ""]
    content = "\n".join(rows).encode(encoding, errors="ignore")
    [fault] = read(content, "a.csv", EMPLOYEE).faults
    assert (fault.code, fault.line) == ("bad_encoding", None)


@pytest.mark.parametrize("misread_as", ["cp1252", "mac_roman", "cp850", "latin-1"])
@pytest.mark.parametrize("name", ["Aurélie", "à Paris", "Noël", "L’Église", "Cœur", "François"])
def test_mojibake_is_refused(misread_as: str, name: str) -> None:
    broken = name.encode().decode(misread_as, errors="replace")
    sheet = read(f"Nom;Prénom\nX;{broken}\n".encode(), "a.csv", EMPLOYEE)
    assert [fault.code for fault in sheet.faults] == ["mojibake"]
