"""A setting is read by its kind, or refused with what it takes."""

import pytest

from bms_flows.settings import BadSetting, Settings


@pytest.mark.parametrize(("text", "hours"), [("26", 26), ("1.5", 1.5), ("off", None)])
def test_hours_of_a_promise_are_a_number_or_off(text: str, hours: float | None) -> None:
    read = Settings.from_environment({"BMS_FRESH_HOURS_CONTACT_SYNC": text})
    assert read.fresh_hours_contact_sync == hours


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "never", "1,5"])
def test_other_hours_are_refused_with_what_they_take(text: str) -> None:
    with pytest.raises(BadSetting, match="a number, more than 0, or off"):
        Settings.from_environment({"BMS_FRESH_HOURS_CONTACT_SYNC": text})
