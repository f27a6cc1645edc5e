"""Settings are parsed by type; an invalid value is refused with the accepted values."""

from contextlib import suppress
from dataclasses import fields

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bms_flows.catalog import WITH_TARGET
from bms_flows.onboarding.inbox.settings import InboxSettings
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime.settings import FlowSettings, InvalidSetting, constants, without_effect
from bms_warehouse.resources import WITH_PRIVATE_FIELDS

KINDS = (FlowSettings, OnboardingSettings, InboxSettings)
VARIABLES = sorted({f"BMS_{each.name.upper()}" for kind in KINDS for each in fields(kind)})
VARIABLES += [f"BMS_{each.details_level.upper()}" for each in WITH_PRIVATE_FIELDS]
VARIABLES += [f"BMS_FRESH_HOURS_{flow.dag_id.upper()}" for flow in WITH_TARGET]


def test_a_variable_without_effect_is_named_with_the_reason() -> None:
    given = [
        "PATH",
        "BMS_SETTLE_S",
        "BMS_DATA_ROOT",
        "BMS_FRESH_HOURS_CONTACT_SYNC",
        "BMS_SANDBOX_PORT",
    ]
    assert list(without_effect(given, KINDS)) == []
    wrong = ["BMS_SETLE_S", "BMS_KEEP_PARQUET_DAYS", "BMS_OUTAGE_HOURS"]
    texts = list(without_effect([*given, *wrong], KINDS))
    assert [text.split()[0] for text in texts] == sorted(wrong)
    assert "no Parquet" in texts[0]
    assert "constant" in texts[1]
    assert "docs/reference/settings.md" in texts[2]


def test_a_constant_is_not_read_from_the_environment() -> None:
    assert "outage_hours" in constants(OnboardingSettings)
    read = OnboardingSettings.from_environment({"BMS_OUTAGE_HOURS": "1", "BMS_LOOKBACK_GAP": "9"})
    assert (read.outage_hours, read.lookback_gap) == (8, 2)


@pytest.mark.parametrize(("text", "hours"), [("26", 26), ("1.5", 1.5), ("off", None)])
def test_a_freshness_target_is_a_number_or_off(text: str, hours: float | None) -> None:
    read = FlowSettings.from_environment({"BMS_FRESH_HOURS_CONTACT_SYNC": text})
    assert read.fresh_hours == {"contact_sync": hours}


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "never", "1,5"])
def test_other_hours_are_refused_with_what_they_take(text: str) -> None:
    with pytest.raises(InvalidSetting, match="a number above 0, or to off"):
        FlowSettings.from_environment({"BMS_FRESH_HOURS_CONTACT_SYNC": text})


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
