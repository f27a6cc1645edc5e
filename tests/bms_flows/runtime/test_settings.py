"""Settings are parsed by type; an invalid value is refused with the accepted values."""

from contextlib import suppress
from dataclasses import fields

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.settings import FlowSettings, InvalidSetting, constants, without_effect
from bms_warehouse.resources import WITH_PRIVATE_FIELDS

KINDS = (FlowSettings, OnboardingSettings)
VARIABLES = sorted({f"BMS_{each.name.upper()}" for kind in KINDS for each in fields(kind)})
VARIABLES += [f"BMS_{each.details_level.upper()}" for each in WITH_PRIVATE_FIELDS]


def test_a_variable_without_effect_is_named_with_the_reason() -> None:
    given = [
        "PATH",
        "BMS_SETTLE_S",
        "BMS_DATA_ROOT",
        "BMS_FRESH_HOURS",
        "BMS_SANDBOX_PORT",
        "BMS_STACK",
    ]
    assert list(without_effect(given, KINDS)) == []
    wrong = [
        *("BMS_FRESH_HOURS_CONTACT_SYNC", "BMS_KEEP_ARCHIVE_DAYS", "BMS_KEEP_PARQUET_DAYS"),
        *("BMS_OUTAGE_HOURS", "BMS_SETLE_S"),
    ]
    texts = list(without_effect([*given, *wrong], KINDS))
    assert [text.split()[0] for text in texts] == sorted(wrong)
    assert 'BMS_FRESH_HOURS={"contact_sync": …} replaces it' in texts[0]
    assert "BMS_KEEP_PEOPLE_DAYS replaces it" in texts[1]
    assert "no Parquet" in texts[2]
    assert "constant" in texts[3]
    assert "docs/reference/settings.md" in texts[4]


def test_a_constant_is_not_read_from_the_environment() -> None:
    assert "outage_hours" in constants(OnboardingSettings)
    read = OnboardingSettings.from_environment({"BMS_OUTAGE_HOURS": "1", "BMS_LOOKBACK_GAP": "9"})
    assert (read.outage_hours, read.lookback_gap) == (8, 2)


def test_freshness_targets_are_numbers_or_off() -> None:
    read = FlowSettings.from_environment(
        {"BMS_FRESH_HOURS": '{"contact_sync": 1.5, "retention": "off"}'}
    )
    assert read.fresh_hours == {"contact_sync": 1.5, "retention": "off"}


@pytest.mark.parametrize("hours", ["0", "-1", "NaN", "1e999", "99999999", '"never"', "null"])
def test_other_hours_are_refused(hours: str) -> None:
    with pytest.raises(InvalidSetting, match=r"^BMS_FRESH_HOURS must be a JSON object: "):
        FlowSettings.from_environment({"BMS_FRESH_HOURS": f'{{"contact_sync": {hours}}}'})


def test_a_freshness_target_of_an_unknown_flow_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="contact_sync"):
        FlowSettings.from_environment({"BMS_FRESH_HOURS": '{"contacts_sync": 3}'})


@pytest.mark.parametrize(
    ("variable", "text", "allowed"),
    [
        ("BMS_WINDOW_DAYS", "0", "a whole number above 0 with at most 9 digits"),
        ("BMS_LOOKBACK_DAYS", "999999", "a whole number above 0 with at most 5 digits"),
        ("BMS_SETTLE_S", "nan", "a number above 0, below a million"),
        ("BMS_APPROVAL_ALARM_HOURS", "-1", "a number above 0, below a million, or to off"),
        ("BMS_LANGUAGE", "DE", "EN or FR"),
        ("BMS_TIME_ZONE", "Paris", "the name of a time zone, such as Europe/Paris"),
        ("BMS_HOLIDAYS", "fr", "the ISO code of a country, such as FR"),
        ("BMS_PHONE_REGION", "France", "the ISO code of a country, such as FR"),
        ("BMS_APPROVAL", "sometimes", "always, never or a number of rows"),
        ("BMS_CREATE_STOPPED_BY", "500", "statuses such as 403,404,405, or to none"),
    ],
)
def test_an_invalid_value_is_refused_with_the_allowed_ones(
    variable: str, text: str, allowed: str
) -> None:
    with pytest.raises(InvalidSetting) as refused:
        OnboardingSettings.from_environment({variable: text})
    assert str(refused.value) == f"{variable} is {text!r}. Set it to {allowed}."


def test_each_resource_with_private_fields_has_a_setting_of_its_details() -> None:
    assert FlowSettings.from_environment({}).details_of("employee") == "directory"
    read = FlowSettings.from_environment({"BMS_EMPLOYEE_DETAILS": "full"})
    assert (read.details_of("employee"), read.details_of("contact")) == ("full", "directory")
    with pytest.raises(InvalidSetting, match="BMS_EMPLOYEE_DETAILS"):
        FlowSettings.from_environment({"BMS_EMPLOYEE_DETAILS": "all"})


@given(variable=st.sampled_from(VARIABLES), text=st.text() | st.from_regex(r"-?[0-9.e]+"))
@example(variable="BMS_WINDOW_DAYS", text="9" * 5_000)
@example(variable="BMS_WINDOW_DAYS", text="²")
@example(variable="BMS_SETTLE_S", text="1e999")
@example(variable="BMS_APPROVAL", text="9" * 5_000)
@example(variable="BMS_INBOX_FORMATS", text="[" * 100_000)
def test_any_value_of_a_variable_is_read_or_refused_with_its_name(variable: str, text: str) -> None:
    for kind in KINDS:
        try:
            kind.from_environment({variable: text})
        except InvalidSetting as error:
            assert variable in str(error)  # noqa: PT017 - it may be read as well


@given(text=st.text())
def test_no_secret_of_a_setting_is_shown(text: str) -> None:
    canary = f"canary-{text}"
    with suppress(InvalidSetting):
        read = FlowSettings.from_environment(
            {"BMS_NOTICE_SMTP": canary, "BMS_NOTICE_WEBHOOK": canary}
        )
        assert "canary" not in repr(read)
