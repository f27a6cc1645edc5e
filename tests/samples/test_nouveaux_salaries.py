"""Sample file of employees, with valid and invalid rows."""

from pathlib import Path

from bms_flows.onboarding.inbox.discovery import complete
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.resources.employee import EMPLOYEE


def test_the_intended_errors_are_found(project: Path) -> None:
    content = (project / "include/samples/nouveaux_salaries.csv").read_bytes()
    assert complete(content, "nouveaux_salaries.csv")
    sheet = read(content, "nouveaux_salaries.csv", EMPLOYEE)
    assert (sheet.form.encoding, sheet.form.delimiter, sheet.form.line_end) == (
        "cp1252",
        ";",
        "\r\n",
    )
    assert sheet.file_faults == ()
    assert len(sheet.rows) == 26
    assert {(fault.line, fault.code) for fault in sheet.faults} == {
        (15, "bad_date"),
        (16, "bad_integer"),
        (17, "mojibake"),
        (18, "scientific_notation"),
        (19, "bad_boolean"),
        (23, "ambiguous_number"),
        (24, "two_digit_year"),
        (28, "cell_count"),
    }
    by_number = {row.values.get("payroll_number"): row.values for row in sheet.rows}
    assert by_number["009004"]["last_name"] == "Null"
    assert by_number["009003"]["address"] == "3 place du Marché\nBâtiment B ; 2e étage"
    assert by_number["009011"]["skills"] == "Python"  # written as ="Python"
