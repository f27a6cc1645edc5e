"""Excel's number formats: values are read as displayed or refused."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bms_flows.onboarding.reading.number_format import Display, display, kind, text_display

SECURITY = r'[>=3000000000000]#" "##" "##" "##" "###" "###\ \|\ ##;#" "##" "##" "##" "###" "###'
ACCOUNTING = r'_-* #,##0.00\ "€"_-;\-* #,##0.00\ "€"_-;_-* "-"??\ "€"_-;_-@_-'


def displayed(code: str, number: str) -> Display:
    """Return what a cell shows in a format that is read."""
    found = display(code, Decimal(number))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("code", "number", "text"),
    [
        ("0", "4217", "4217"),
        ("000000", "12345678", "12345678"),
        ("000000;-000000", "-42", "-000042"),
        ("000000", "-42", "-000042"),
        ("0# ## ## ## ##", "612345678", "06 12 34 56 78"),
        (r"0#\ ##\ ##\ ##\ ##", "612345678", "06 12 34 56 78"),
        (r"0#\.##\.##\.##\.##", "612345678", "06.12.34.56.78"),
        (r"[<=999999999]0#\ ##\ ##\ ##\ ##;\+##\ #\ ##\ ##\ ##\ ##", "612345678", "06 12 34 56 78"),
        (
            r"[<=999999999]0#\ ##\ ##\ ##\ ##;\+##\ #\ ##\ ##\ ##\ ##",
            "33612345678",
            "+33 6 12 34 56 78",
        ),
        (SECURITY, "294050105300100", "2 94 05 01 053 001 | 00"),
        (SECURITY, "2940501053001", "2 94 05 01 053 001"),
        (r"\E\M\P\-0000", "42", "EMP-0042"),
        ('0000"-FR"', "42", "0042-FR"),
        ("0%", "1", "100%"),
        ("0 %", "0.8", "80 %"),
        ("#", "0", ""),
        ('"oui";;"non"', "0", "non"),
        ('[=1]"oui";"non"', "1", "oui"),
        ("@", "4217", "4217"),
        ('"EMP-"General', "42", "EMP-42"),
        ("[Red]0000", "42", "0042"),
        ("[$-40C]0000", "42", "0042"),
        ("0_)", "7", "7"),
        ("(###) ###-####", "5551234", "() 555-1234"),
    ],
)
def test_texts_are_what_the_cell_shows(code: str, number: str, text: str) -> None:
    found = displayed(code, number)
    assert found.text is not None
    assert found.text.strip() == text
    assert found.exact


@pytest.mark.parametrize("code", ["0.00", "# ##0.0", ACCOUNTING, "#,##0.00 €"])
def test_formats_that_depend_on_excels_language_are_unsupported(code: str) -> None:
    found = displayed(code, "1234")
    assert found.text is None
    assert found.number == 1234


@pytest.mark.parametrize(
    ("code", "number", "shown"),
    [
        ("#,##0.00", "2850.5", "2850.5"),
        ("#,##0.00\\ [$€-40C]", "2850.5", "2850.5"),
        ("#,##0.00\\ [$EUR]", "2850.5", "2850.5"),
        (ACCOUNTING, "2850.5", "2850.5"),
        (ACCOUNTING, "-2850.5", "-2850.5"),
        (ACCOUNTING, "0", "0"),
        ("#,##0_);[Red](#,##0)", "-12", "-12"),
        ("0;[Red]0", "-12", "-12"),
        ("0.0%", "0.805", "80.5"),
        ("# ##0", "1200", "1200"),
    ],
)
def test_numbers_are_what_the_digits_show(code: str, number: str, shown: str) -> None:
    found = displayed(code, number)
    assert (found.number, found.exact) == (Decimal(shown), True)
    assert found.percent == ("%" in code)


@pytest.mark.parametrize(
    ("code", "number"), [("0.00", "0.661"), ("#,##0,", "12000"), ("0.0,,", "5")]
)
def test_what_a_format_rounds_is_not_exact(code: str, number: str) -> None:
    found = displayed(code, number)
    assert not found.exact


@pytest.mark.parametrize(
    ("code", "number"), [('0" ans"', "12"), ('"1"0', "5"), ('"oui";;"non"', "1"), (";;;", "5")]
)
def test_words_beside_a_number_can_change_its_value(code: str, number: str) -> None:
    found = displayed(code, number)
    assert found.number is None


@pytest.mark.parametrize(
    "code",
    [
        "[DBNum1]0",
        "[>5]0;[>10]0",
        "0;0;0;0;0",
        "0" * 256,
        "0x",
        "[30]",
        "dd/mm/yyyy",
        "[h]:mm",
    ],
)
def test_other_date_formats_are_refused(code: str) -> None:
    assert display(code, Decimal(5)) is None


def test_a_number_longer_than_excel_stores_is_refused() -> None:
    assert display("0", Decimal(10) ** 15) is None
    assert display("0", Decimal("1E+300")) is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("dd/mm/yyyy", "date"),
        ('dddd" "d" "mmmm" "yyyy', "date"),
        ("[$-fr-FR]d mmm yyyy", "date"),
        ("yyyy-mm-dd hh:mm", "date"),
        ("[h]:mm:ss", "duration"),
        ('0" jours"', "number"),
        ("# ?/?", "unknown"),
        ("General", "number"),
    ],
)
def test_a_number_format_determines_the_kind_of_value(code: str, expected: str) -> None:
    assert kind(code, Decimal(46000)) == expected


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("General", "A"), ("@", "A"), ("0000", "A"), (";;;@", "A"),
        ("# ?/?", "A"), ("dd/mm/yyyy;@", "A"), ('0;0;0;"x"', "x"),
    ],
)  # fmt: skip
def test_a_text_is_shown_by_the_last_section(code: str, shown: str) -> None:
    assert text_display(code, "A") == shown


@given(
    st.text("0#?.,%;@\\\"_*[]<>=-+E/dmyhs $€()'Ax", max_size=12),
    st.decimals(allow_nan=False, allow_infinity=False, places=5),
)
def test_any_format_is_read_or_not(code: str, number: Decimal) -> None:
    found = display(code, number)
    assert found is None or found.text is None or isinstance(found.text, str)
    text_display(code, "A")
    kind(code, number)
