"""Rules for addresses and numbers: what Excel has changed is refused."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.reading.sheet import Row
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.settings import InvalidSetting


def code_of(field: str, value: object, **others: object) -> str | None:
    """Return the code of a field's only fault."""
    row = Row(2, {field: value, **others}, ())  # type: ignore[dict-item]  # values of cells
    faults = [each for each in rules.validate(row, rules.read(EMPLOYEE)) if each.field == field]
    assert len(faults) <= 1
    return faults[0].code if faults else None


@pytest.mark.parametrize(
    ("field", "value", "country", "refused"),
    [
        ("personal_mobile_phone", "612345678", "", True),
        ("personal_mobile_phone", "6 12 34 56 78", "FR", True),
        ("business_landline_phone", "33142685300", "", True),
        ("personal_mobile_phone", "0612345678", "", False),
        ("personal_mobile_phone", "06.12.34.56.78", "", False),
        ("personal_mobile_phone", "+33 6 12 34 56 78", "", False),
        ("personal_mobile_phone", "0033612345678", "", False),
        ("personal_mobile_phone", "+33 (0)6 12 34 56 78", "", False),
        ("personal_mobile_phone", "(0)6 12 34 56 78", "", False),
        ("personal_mobile_phone", "470123456", "BE", True),
        ("personal_mobile_phone", "612345678", "ES", False),  # numbers of Spain begin without 0
        ("business_landline_phone", "3949", "", False),  # a short number
        ("business_landline_phone", "poste 12", "", False),
        ("postal_code", "1000", "", True),
        ("postal_code", "1000", "France", True),
        ("postal_code", "1000", "BE", False),
        ("postal_code", "1000", "Suisse", False),
        ("postal_code", "01000", "", False),
        ("postal_code", "75001", "FR", False),
        ("postal_code", "2A004", "FR", False),
    ],
)
def test_a_phone_number_or_postal_code_without_its_first_zero_is_refused(
    field: str, value: str, country: str, refused: bool
) -> None:
    assert code_of(field, value, country=country) == ("lost_prefix" if refused else None)


@pytest.mark.parametrize(
    ("number", "country", "refused"),
    [
        ("06 12 34 56 7", "", True),
        ("06.12.34.56.789", "", True),
        ("+33 6 12 34 56 7", "", True),
        ("+33 (0)6 12 34 56 7", "", True),
        ("0033 6 12 34 56 789", "BE", True),
        ("+32 470 12 3", "", True),
        ("02 511 11 11", "", True),
        ("02 511 11 11", "BE", False),
        ("01 42 68 53 00", "BE", False),
        ("01 42 68 53 00", "ES", False),
        ("06 1234567", "IT", False),
        ("+39 06 1234567", "", False),
        ("0690 12 34 56", "", False),  # of Guadeloupe
        ("+49 89 1234", "", False),
        ("+352 26 12 34", "", False),
        ("01 42 68 53 00 ext. 12", "", False),
        ("01 42 68 53 00 poste 12", "", False),
        ("01 42 68 53 00 / 06 12 34 56 78", "", False),
        ("+800 1234 5678", "", False),
        ("4512", "", False),
        ("118 712", "", False),
        ("61234567", "", True),  # without its first 0, too
        ("612 34 56 7", "ES", True),
        ("06 12 34 56 7O", "", True),  # a letter
        ("O6 12 34 56 78", "", True),
        ("06 12 34 56 78 ou 01 42 68 53 00", "", False),
        ("pro06 12 34 56 78", "", False),
    ],
)
def test_a_phone_number_with_a_digit_too_few_or_too_many_is_refused(
    number: str, country: str, refused: bool
) -> None:
    found = code_of("business_mobile_phone", number, country=country)
    assert found == ("wrong_length" if refused else None)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("rows = 1", "field `rows`"),
        ("[plan]\nrows = 'many'", "$.plan.rows"),
        ("[employee]\ncode = {}", "field `code` - at `$.employee`"),
        ("[employee]\nrequired = ['name']", "employee.required has no name"),
        ("[employee.codes]\ncountry = 'FR'", "$.employee.codes"),  # read as F and R
        ("[employee.codes]\nland = ['FR']\nage = [1]", "employee.codes has no age, land"),
        ("[employee.ranges]\nactivity_rate = [1]", "$.employee.ranges"),
        ("[employee.ranges]\nlast_name = [1, 2]", "employee.ranges has no last_name"),
        ("[employee.lengths]\nlast_name = 'x'", "$.employee.lengths"),
        ("[employee.lengths]\nname = 3", "employee.lengths has no name"),
    ],
)
def test_a_wrong_file_of_rules_names_its_section(content: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(content)
    with pytest.raises(InvalidSetting) as refused:
        rules.read(EMPLOYEE, str(path))
    assert named in str(refused.value)
    assert str(path) in str(refused.value)


NO_FIRST_NAMES = ("M. Jean", "M.Jean", "XXX", "inconnu", "a completer", "TBD")
NO_LAST_NAMES = (
    *("Mme DURAND", "Lopez (née Martin)", "Lopez née Martin", "LOPEZ EP. MARTIN"),
    *("Lopez épouse Martin", "À définir", "camille.thomas@societe.example"),
)
LAST_NAMES = (
    "Née",
    "Nee Lopez-Épouse",
    "Xu",
    "Madame",
    "Mret",
    "Monsieur-Petit",
    "'t Hooft",
    "Tbdova",
)
NO_NUMBERS = ("à venir", "TBD", "-", "?", "0", "ADUPONT")


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        *(("first_name", each, "not_a_name") for each in NO_FIRST_NAMES),
        *(("last_name", each, "not_a_name") for each in NO_LAST_NAMES),
        *(("last_name", each, None) for each in LAST_NAMES),
        ("last_name", "Lef_vre", "not_letters"),
        ("first_name", "Marie-José M.", None),
        ("personal_mobile_phone", "idem", "no_digit"),
        ("personal_mobile_phone", "poste 12", None),
        ("postal_code", "à compléter", "no_digit"),
        ("social_security_number", "en cours", "no_digit"),
        ("payroll_number", "'00407", "leading_apostrophe"),
        *(("payroll_number", each, "placeholder") for each in NO_NUMBERS),
        ("payroll_number", "ADUPONT2", None),
        *((each, "0", "placeholder") for each in ("postal_code", "social_security_number")),
        ("personal_mobile_phone", "00 00 00 00 00", "placeholder"),
        ("first_name", "Paul 2", "not_letters"),
        ("social_security_number", "\u2019185057800608436", "leading_apostrophe"),
        ("payroll_number", "12\n13", "line_break"),
        ("last_name", "Durand\nPetit", "line_break"),
        ("address", "12\n13", None),
        # No operation corrects the address of an existing employee.
        ("business_email", "aurelie.lefevre@entreprise", "bad_email"),
        ("personal_email", "paul at domicile.example", "bad_email"),
        ("personal_email", "zoe@domicile.example", None),
        ("activity_rate", 1, "out_of_range"),  # a full-time equivalent, no percentage
        *(("activity_rate", each, None) for each in (2, 100)),
        ("salary_base", Decimal(-1), "out_of_range"),
        ("salary_base", Decimal(0), None),
        ("id_manager", -12, "out_of_range"),
        ("id_entity", 0, "out_of_range"),
        ("meal_vouchers_count", -1, "out_of_range"),
    ],
)
def test_a_value_that_its_column_does_not_hold_is_refused(
    field: str, value: object, code: str | None
) -> None:
    assert code_of(field, value) == code


def test_a_foreign_postal_code_may_have_letters_only() -> None:
    assert code_of("postal_code", "HM AX", country="BM") is None


@pytest.mark.parametrize(
    ("born", "starts", "ends", "field"),
    [
        (date(2027, 6, 1), date(2027, 6, 1), None, "birth_date"),
        (date(2072, 3, 12), date(2027, 6, 1), None, "birth_date"),
        (None, date(2027, 6, 1), date(2027, 5, 1), "start_date"),
        (date(1990, 3, 12), date(2027, 6, 1), date(2027, 9, 30), None),
        (None, date(2027, 6, 1), None, None),
    ],
)
def test_dates_in_the_wrong_order_are_refused(
    born: date | None, starts: date, ends: date | None, field: str | None
) -> None:
    given = {"birth_date": born, "start_date": starts, "end_date_trial_first_period": ends}
    values = {name: value for name, value in given.items() if value}
    found = rules.validate(Row(2, values, ()), rules.read(EMPLOYEE))
    assert [f.field for f in found if f.code == "dates_reversed"] == ([field] if field else [])


@pytest.mark.parametrize(
    ("resource", "phone"), [("contact", "phone_number"), ("employee", "personal_mobile_phone")]
)
def test_the_region_of_the_settings_is_the_country_of_an_address_without_one(
    resource: str, phone: str
) -> None:
    def codes(region: str, number: str) -> dict[str | None, str]:
        reading = rules.Reading.of(resource, OnboardingSettings(phone_region=region))
        row = Row(2, {"postal_code": "1000", phone: number}, ())
        found = rules.validate(row, reading.rules)
        return {each.field: each.code for each in found if each.field in ("postal_code", phone)}

    assert codes("BE", "470123456") == {phone: "lost_prefix"}
    assert codes("ES", "612345678") == {}
    assert codes("FR", "612345678") == {phone: "lost_prefix", "postal_code": "lost_prefix"}


@pytest.mark.parametrize("region", ["UK", "XX", "FRA"])
def test_a_region_without_phone_numbers_names_its_setting(region: str) -> None:
    """Two rows with one mobile number were created twice."""
    settings = OnboardingSettings.from_environment({"BMS_PHONE_REGION": region})
    with pytest.raises(InvalidSetting, match=f"BMS_PHONE_REGION is '{region}'"):
        rules.Reading.of("contact", settings)


def test_a_birth_shortly_before_the_start_is_refused() -> None:
    start = date(2026, 5, 15)
    assert code_of("birth_date", date(2026, 5, 14), start_date=start) == "too_young"
    assert code_of("birth_date", date(2005, 1, 1), start_date=start) is None
