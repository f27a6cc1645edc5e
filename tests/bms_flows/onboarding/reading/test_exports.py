"""Signs that other programs put into their exports."""

import pytest

from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.contact import contact


def cell(text: str, header: str = "Société") -> Sheet:
    return read(f"Nom\t{header}\nDurand\t{text}\n".encode(), "a.tsv", contact())


@pytest.mark.parametrize(
    ("text", "code"),
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
        ("Idem", None),
        ("Null", None),
        ("AT&T", None),
        ("R&D; conseil", None),
        ("#1 Conseil", None),
        ("https://acme.example/?a=1&b=2", None),
    ],
)
def test_what_a_program_writes_for_a_value_is_refused(text: str, code: str | None) -> None:
    assert [fault.code for fault in cell(text).faults] == ([code] if code else [])


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("Code postal", "75001.0"),
        ("Mobile", "32470123456.0"),
    ],
)
def test_a_number_with_decimals_is_no_code_or_phone_number(header: str, text: str) -> None:
    assert [fault.code for fault in cell(text, header).faults] == ["not_text"]


def test_hyphens_spaces_and_ligatures_are_read_as_plain_signs() -> None:
    [row] = cell("Geo\ufb00roy\u2011Petit\u3000SA").rows
    assert row.values["imported_company_name"] == "Geoffroy-Petit SA"
