"""Faults with file, line and column; valid values that resemble faults are accepted."""

# ruff: noqa: RUF001 - typographic signs are part of the corpus

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Limits, Sheet
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.settings import DeclaredFormat

BODY = """
id_entity salutation_code first_name last_name preferred_first_name preferred_last_name
payroll_number start_date end_date_trial_first_period end_date_trial_second_period
department_code department_service job_title category_code contract_type_code activity_rate
status_code status_position status_factor salary_base salary_variable salary_other skills
missions address postal_code city country personal_email personal_mobile_phone
personal_landline_phone business_email business_mobile_phone business_landline_phone
birth_date birth_city birth_country nationality social_security_number
resident_permit_number resident_permit_expiration_date id_manager affiliated_company
is_salesperson is_consultant has_timesheets timesheets_frequency_code emergency_contacts
meal_vouchers_count has_portal_access exclude_from_directory has_overtime use_vehicle
vehicle_type_code vehicle_tax_horsepower_code vehicle_registration_number
vehicle_price_per_km
"""


def sheet(text: str, **given: Any) -> Sheet:
    return read(text.encode(), "drop.csv", EMPLOYEE, **given)


def places(found: Sheet) -> list[tuple[str, int | None, str | None]]:
    return [(fault.code, fault.line, fault.column) for fault in found.faults]


def first(text: str, **given: Any) -> Any:
    """Return the only value of the only row, or its fault's code."""
    found = sheet(text, **given)
    assert len(found.rows) == 1
    if found.faults:
        return found.faults[0].code
    [value] = found.rows[0].values.values()
    return value


TEXTS = {
    "Nom": ("NA", "Null", "None", "nan", "TRUE", "N/A", "-", "1E5", "#1", "?"),
    "Matricule": ("000", "004217", "2A004", "01 02", "9" * 40),
    "Mobile personnel": ("+33612345678", "-", "@jo", "- a", "a=b", "+", "-12"),
}
"""Words of formulas, numbers and signs of a formula, all of them texts."""


@pytest.mark.parametrize(
    ("header", "cell"), [(header, cell) for header, cells in TEXTS.items() for cell in cells]
)
def test_a_text_stays_as_it_is(header: str, cell: str) -> None:
    assert first(f"{header}\n{cell}\n") == cell


@pytest.mark.parametrize("cell", ['="004217"', '"=""004217"""', ' ="004217" ', "'004217", "004217"])
def test_a_text_written_as_a_formula_is_read_as_excel_shows_it(cell: str) -> None:
    number = "'004217" if cell.startswith("'") else "004217"
    assert first(f"Matricule\n{cell}\n") == number
    assert first(f'="Matricule"\n{cell}\n') == number


def test_quotes_inside_a_text_written_as_a_formula_are_kept() -> None:
    assert first('Nom\n="Jean ""Jo"""\n') == 'Jean "Jo"'


@pytest.mark.parametrize("cell", ["=A1+3", '="a"&"b"', "'=A1+3", " =1", '"=""a"', '=""="a"'])
def test_any_other_formula_is_refused_with_its_cell_and_remedy(cell: str) -> None:
    found = sheet(f"Nom\n{cell}\n")
    assert places(found) == [("formula_as_text", 2, "Nom")]
    assert found.faults[0].details["cell"] == "A2"
    assert "without the = sign" in found.faults[0].hint("EN")


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2850,50", Decimal("2850.50")),
        ("2 850,50", Decimal("2850.50")),
        ("2\u202f850,5", Decimal("2850.5")),
        ("1.234,56", Decimal("1234.56")),
        ("1,234.56", Decimal("1234.56")),
        ("1.234.567", Decimal(1234567)),
        ("0,661", Decimal("0.661")),
        ("-12,5", Decimal("-12.5")),
        ("1234,567", Decimal("1234.567")),
        ("1,234", "ambiguous_number"),
        ("1.234", "ambiguous_number"),
        ("1,23,4", "bad_decimal"),
        ("12,", "bad_decimal"),
        (",5", "bad_decimal"),
        ("1 23", "bad_decimal"),
        ("12 €", Decimal(12)),
        ("12 k€", "bad_decimal"),
        ("١٢", "bad_decimal"),
        ("1_000", "bad_decimal"),
        ("Infinity", "bad_decimal"),
        ("9" * 31, "bad_decimal"),
    ],
)
def test_decimals(cell: str, expected: object) -> None:
    assert first(f'Salaire\n"{cell}"\n') == expected


def test_other_cells_of_the_column_distinguish_decimals_from_thousands() -> None:
    found = sheet("Salaire\n1,234\n12,5\n2 000,00\n")
    assert [row.values["salary_base"] for row in found.rows] == [
        Decimal("1.234"), Decimal("12.5"), Decimal("2000.00")
    ]  # fmt: skip
    assert sheet("Salaire\n1,234\n12.5\n").faults[0].code == "ambiguous_number"
    assert sheet("Salaire\n1,234\n12.5\n12,5\n").faults[0].code == "ambiguous_number"


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("80", 80), ("80,0", 80), ("1 200", 1200), ("007", 7), ("1,5", "bad_integer"),
        ("cent", "bad_integer"), ("1,000", "ambiguous_number"), (str(2**63), "bad_integer"),
    ],
)  # fmt: skip
def test_integers(cell: str, expected: object) -> None:
    assert first(f'Entité\n"{cell}"\n') == expected


def test_a_rate_may_have_the_sign_of_percent() -> None:
    cells = ("100 %", "80%", "80")
    assert [first(f"Taux d'activité\n{cell}\n") for cell in cells] == [100, 80, 80]


@pytest.mark.parametrize(
    ("header", "cell", "expected"),
    [
        ("Nom", "Le\xa0Roux", "Le Roux"),
        ("Ville", "Saint\u202fDenis", "Saint Denis"),
        ("Code postal", "\uff10\uff16\uff10\uff10\uff10", "06000"),
        ("Mobile personnel", "06\u200712\u200934 56 78", "06 12 34 56 78"),
    ],
)
def test_every_space_inside_of_a_text_is_an_ordinary_one(
    header: str, cell: str, expected: str
) -> None:
    for content in (f"{header};Entité\n{cell};1\n", f'{header};Entité\n"{cell}";1\n'):
        [row] = sheet(content).rows
        assert next(iter(row.values.values())) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [("oui", True), ("Non", False), ("VRAI", True), ("faux", False), ("0", False), ("yes", True),
     ("x", True), ("X ", True), ("o", True), ("N", False), ("1", True), ("2", "bad_boolean"),
     ("oui ?", "bad_boolean"), ("N/O", "bad_boolean"), ("O/N", "bad_boolean"), ("-1", "bad_boolean"),
     ("1.", "bad_boolean"), ("n°", "bad_boolean"), ("-", "bad_boolean"), ("N.", "bad_boolean")],
)  # fmt: skip
def test_booleans(cell: str, expected: object) -> None:
    assert first(f"Consultant\n{cell}\n") == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("31/12/2026", "2026-12-31"), ("03/04/2026", "2026-04-03"), ("05/05/2026", "2026-05-05"),
        ("2026-12-31T00:00:00", "2026-12-31"), ("31/12/2026 00:00", "2026-12-31"),
        ("2026/12/31", "2026-12-31"), ("12/31/2026", "contradicting_dates"), ("31/12/26", "two_digit_year"),
        ("31/02/2026", "bad_date"), ("2026-02-30", "bad_date"), ("31-12/2026", "bad_date"),
        ("46387", "bad_date"), ("demain", "bad_date"), ("01/01/0026", "bad_date"),
        ("31/12/2026 14:30", "bad_date"), ("3 mars 2026", "2026-03-03"),
        ("1er Août 2026", "2026-08-01"), ("31 fevrier 2026", "bad_date"), ("3 brumaire 2026", "bad_date"),
    ],
)  # fmt: skip
def test_dates(cell: str, expected: str) -> None:
    assert str(first(f"Date d'entrée\n{cell}\n")) == expected


def test_one_date_in_another_order_refuses_all_ambiguous_dates() -> None:
    """01/06 and 02/06 are the 1st and 2nd of June, or January 6 and February 6."""
    column = (
        "Date d'entrée\n01/06/2026\n02/06/2026\n01/13/2026\n31/12/2026\n05/05/2026\n2026-06-01\n"
    )
    found = sheet(column)
    assert places(found) == [("contradicting_dates", line, "Date d'entrée") for line in (2, 3, 4)]
    assert [str(row.values["start_date"]) for row in found.rows[3:]] == [
        "2026-12-31", "2026-05-05", "2026-06-01"
    ]  # fmt: skip
    for text in (found.faults[0].reason("FR"), found.faults[0].reason("EN")):
        assert "A4" in text


def test_the_first_five_contradicting_cells_are_listed() -> None:
    found = sheet("Nom;Date d'entrée\n" + "A;12/31/2026\n" * 7)
    assert "B2, B3, B4, B5, B6…" in found.faults[0].reason("EN")


def test_an_inbox_declares_another_order() -> None:
    column = "Date d'entrée\n03/04/2026\n"
    for declared, expected in (
        (DeclaredFormat(), 4),
        (DeclaredFormat("dmy"), 4),
        (DeclaredFormat("mdy"), 3),
    ):
        assert sheet(column, declared=declared).rows[0].values["start_date"].month == expected  # type: ignore[union-attr]
    assert first(column, declared=DeclaredFormat("ymd")) == "not_the_declared_date"
    column += "31/12/2026\n"
    assert len(sheet(column, declared=DeclaredFormat("mdy")).faults) == 2
    assert first("Date d'entrée\n2026-12-31\n", declared=DeclaredFormat("mdy")) == date(
        2026, 12, 31
    )


@pytest.mark.parametrize(
    ("mark", "written", "expected"),
    [
        (".", "1,234", Decimal(1234)),
        (",", "1,234", Decimal("1.234")),
        *((",", text, Decimal("1234.5")) for text in ("1234,5", "1.234,5", "1 234,5")),
        (",", "1\u202f234,5", Decimal("1234.5")),
        *((",", text, "not_the_declared_decimal") for text in ("2850.50", "2 850.50", "1.234.5")),
        *((",", text, "not_the_declared_decimal") for text in ("1.2345", "1,2,3")),
    ],
)
def test_a_declared_decimal_mark_takes_precedence(
    mark: Any, written: str, expected: object
) -> None:
    content = f'Salaire\n"{written}"\n'
    assert first(content, declared=DeclaredFormat(decimal_mark=mark)) == expected


def test_the_reason_names_what_is_declared() -> None:
    [fault] = sheet("Date d'entrée\n12/31/2026\n").faults
    assert "jj/mm/aaaa" in fault.hint("FR")
    assert "dd/mm/yyyy" in fault.hint("EN")


def test_another_column_is_no_contradiction() -> None:
    found = sheet("Date d'entrée;Date de naissance\n03/04/2026;12/31/1990\n")
    assert places(found) == [("contradicting_dates", 2, "Date de naissance")]


def test_line_numbers_are_those_that_excel_shows() -> None:
    text = 'Nom;Entité\r\n"a\r\nb\r\nc";1\r\n;\r\n\r\nx;un\r\n'
    assert places(sheet(text)) == [("bad_integer", 5, "Entité")]
    assert places(sheet("sep=;\r\n" + text)) == [("bad_integer", 5, "Entité")]


def test_blank_lines_are_no_rows() -> None:
    found = sheet("Nom;Prénom\n;\n ; \nA;B\n\n;;;;\n")
    assert [row.line for row in found.rows] == [4]
    assert not found.faults


def test_all_errors_of_all_rows_are_reported() -> None:
    found = sheet("Nom;Entité;Consultant\nA;un;N/O\nB;1;oui\nC;2;y;\nHÃ©;deux;non\n")
    assert places(found) == [
        ("bad_integer", 2, "Entité"),
        ("bad_boolean", 2, "Consultant"),
        ("cell_count", 4, None),
        ("mojibake", 5, "Nom"),
        ("bad_integer", 5, "Entité"),
    ]
    assert [row.line for row in found.rows if not found.faults_of(row)] == [3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nom;Prénon\nA;B\n", ("unknown_column", 1, "Prénon")),
        ("Nom;last_name\nA;B\n", ("duplicate_header", 1, "last_name")),
        ("Nom;Nom\nA;B\n", ("duplicate_header", 1, "Nom")),
        ("Nom;PrÃ©nom\nA;B\n", ("mojibake", 1, "PrÃ©nom")),
        ("Dupont;Jean\nDurand;Zoé\n", ("no_header", 1, None)),
        ("Nom;Prénom\n", ("empty_file", 1, None)),
        ("\n\n", ("empty_file", None, None)),
        ('Nom;Prénom\nA;"B\nC;D\n', ("bad_quoting", 2, None)),
        ('Nom;Prénom\nA;"B"x\n', ("bad_quoting", 2, None)),
        ('Nom;Prénom\nA; "B"\n', ("bad_quoting", 2, None)),
    ],
)
def test_a_file_with_an_invalid_name_is_refused(text: str, expected: tuple[Any, ...]) -> None:
    found = sheet(text)
    assert places(found) == [expected]
    assert found.refused
    assert all(found.faults_of(row) for row in found.rows)


def test_headers_match_without_case_accents_and_spaces_and_by_api_name() -> None:
    found = sheet(
        "  NUMERO de Matricule ;PRENOM;last_name;Salary Variable1 Type;Né(e) le\nA;B;C;D;\n"
    )
    assert not found.faults
    assert [name for name in found.form.columns if name] == [
        "payroll_number", "first_name", "last_name", "salary_variable1_type", "birth_date"
    ]  # fmt: skip


def test_every_field_of_the_creation_body_can_be_given() -> None:
    paths = {field.path for field in EMPLOYEE.fields if field.path}
    assert {str(path[0]) for path in paths} == set(BODY.split())
    assert {path[1] for path in paths if path[0] == "missions"} == {
        f"mission{n}" for n in range(1, 7)
    }
    assert {path[2] for path in paths if path[0] == "salary_variable"} == {
        "type", "value", "criteria", "payment_date_code"
    }  # fmt: skip


def test_an_unclosed_quote_that_swallows_rows_is_refused() -> None:
    found = sheet('Nom;Prénom;Ville\n"A;B;C\nD;E;F\nG";H;I\n')
    assert places(found) == [("swallowed_rows", 2, "Nom")]


@pytest.mark.parametrize("cell", ["a\x00b", "a\u200bb", "a\ufeffb", "\u202eb", "a\x07"])
def test_invisible_characters_are_refused(cell: str) -> None:
    found = read(f"Nom;Ville\nX;{cell}\n".encode(), "a.csv", EMPLOYEE)
    assert {fault.code for fault in found.faults} <= {"control_character", "bad_encoding"}
    assert found.faults


REPLACED = (
    *("Ren?e", "H?l?ne", "Fran?ois-Xavier", "Wa??sa", "?ukasz", "?ód?", "Nguyen Ph??ng"),
    *("\ufffd", "Ã©", "ï¿½"),
)
ROUNDED = ("1,23E+14", "1.23e+14", "2E-05", "-1,5E+100")


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("NULL", "empty_marker"),
        ("<NA>", "empty_marker"),
        ("#WAARDE!", "excel_error"),
        ("#BEZUG!", "excel_error"),
        ("#NV", "excel_error"),
        ("#ERROR!", "excel_error"),
        ("Err:502", "excel_error"),
        ("Loading...", "excel_error"),
        ("Soci=C3=A9t=C3=A9", "mojibake"),
        ("Soci&eacute;t&eacute;", "mojibake"),
        ("R&amp;D", "mojibake"),
        ("L&#39;atelier", "mojibake"),
        ("Soci\\u00e9t\\u00e9", "mojibake"),
        ("idem", "ditto"),
        ("//", "ditto"),
        *((text, "excel_error") for text in ("#N/A", "#VALEUR!", "#REF!", "#########", "#nom?")),
        *((text, "mojibake") for text in REPLACED),
        *((text, text) for text in ("Idem", "Null", "AT&T", "R&D; conseil", "#1 Conseil")),
        ("https://acme.example/?a=1&b=2", "https://acme.example/?a=1&b=2"),
        ("Geo\ufb00roy\u2011Petit\u3000SA", "Geoffroy-Petit SA"),
    ],
)
def test_what_another_program_exports_for_a_value_is_refused(cell: str, code: str) -> None:
    assert first(f'Ville\n"{cell}"\n') == code


@pytest.mark.parametrize(
    ("header", "cell", "code"),
    [
        *(
            (header, cell, "scientific_notation")
            for header in ("Matricule", "Salaire")
            for cell in ROUNDED
        ),
        *(
            ("Matricule", cell, "not_text")
            for cell in ("4217.0", "4217,00", " 4 217,00 ", "4\u00a0217")
        ),
        ("Matricule", "12\u202f345", "not_text"),
        ("Code postal", "75001.0", "not_text"),
        ("Mobile personnel", "32470123456.0", "not_text"),
    ],
)
def test_a_number_with_a_power_decimals_or_thousands_is_refused(
    header: str, cell: str, code: str
) -> None:
    """It matches no other row, and a program has added what the number doesn't have, or rounded it."""
    assert first(f'{header};Nom\n"{cell}";Durand\n') == code


@pytest.mark.parametrize(
    ("name", "codec", "code"),
    [
        ("Yıldız", "cp1254", "mojibake"),
        ("Kovačević", "cp1250", "mojibake"),
        ("Lætitia Muñoz-Grünwald", "cp1252", None),
        ("L´ami Ürün", "cp1252", "mojibake"),
        ("Yýldýz", "utf-8", None),
    ],
)
def test_letters_of_another_8_bit_encoding_are_refused(
    name: str, codec: str, code: str | None
) -> None:
    found = read(f"Nom\n{name}\n".encode(codec), "a.csv", EMPLOYEE)
    assert [fault.code for fault in found.faults if fault.line == 2] == ([code] if code else [])


@pytest.mark.parametrize(
    "cell",
    ["salarié·e", "« É »", "Paris–Lyon L’Haÿ", "l’île", "Ça va ?", "Quand ? Où??", "https://x.example/a?b=1", "Œuvres", "AÏEUL",
     "Straße", "10 €", "n° 5", "Ångström", "JOÃO", "São Tomé", "Crédits…", "Müller & Söhne", "Žižek Tomáš",
     "m²", "O‘Brien Noël"],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_valid_text_is_not_reported_as_broken(cell: str, encoding: str) -> None:
    found = read(f"Nom\n{cell}\n".encode(encoding), "a.csv", EMPLOYEE)
    assert [row.values for row in found.rows] == [{"last_name": cell}]


@pytest.mark.parametrize("cell", ["Åse Łódź", "Şükrü", "Dvořák", "東京", "Ελένη", "Zoë 😀"])
def test_unicode_files_keep_text_of_any_script(cell: str) -> None:
    assert first(f"Nom\n{cell}\n") == cell


@pytest.mark.parametrize(
    ("limits", "text", "exceeded"),
    [
        (Limits(bytes=5), "Nom\nA\n", ("5 octets", "5 bytes")),
        (Limits(rows=1), "Nom\nA\nB\n", ("1 lignes", "1 rows")),
        (Limits(columns=1), "Nom;Ville\nA;B\n", ("1 colonnes", "1 columns")),
    ],
)
def test_a_file_beyond_a_limit_is_refused_whole(
    limits: Limits, text: str, exceeded: tuple[str, str]
) -> None:
    (fault,) = sheet(text, limits=limits).faults
    assert fault.code == "too_big"
    assert f"limite de {exceeded[0]}." in fault.reason("FR")
    assert f"limit of {exceeded[1]}." in fault.reason("EN")


@pytest.mark.parametrize("blank", [";" * (1 << 14), "\n" * (1 << 20)])
def test_blank_rows_beyond_what_excel_holds_are_refused(blank: str) -> None:
    """They took 565 MB and half a minute before they were passed over."""
    assert [fault.code for fault in sheet(f"Nom\n{blank}\n").faults] == ["too_big"]


def test_a_cell_beyond_the_limit_is_refused() -> None:
    assert first("Nom\nABC\n", limits=Limits(cell_characters=2)) == "cell_too_long"


@pytest.mark.parametrize("name", ["a.pdf", "a.xls", "a", "a.ods"])
def test_other_kinds_of_files_are_refused(name: str) -> None:
    found = read(b"Nom\nA\n", name, EMPLOYEE)
    assert [fault.code for fault in found.faults] == ["bad_kind"]


def test_bytes_of_no_encoding_are_refused() -> None:
    assert [f.code for f in read(b"Nom\n\x81\x8d\n", "a.csv", EMPLOYEE).faults] == ["bad_encoding"]


def test_a_fault_states_the_remedy_without_the_value() -> None:
    found = sheet("Nom;Entité;N° de sécu\nDupont;secret-7;1,85E+14\n")
    for fault in found.faults:
        told = [text(language) for text in (fault.reason, fault.hint) for language in ("FR", "EN")]
        assert all(told)
        assert "secret-7" not in f"{fault!r} {told}"
    assert "Dupont" not in repr(found)
    assert "Dupont" not in repr(found.rows)
