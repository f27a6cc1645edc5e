"""What DAG files need when they are parsed: a bad value is named, and not left to a traceback."""

import pytest

from bms_provider import policy


def test_a_number_is_read_or_stands_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BMS_TASK_SLOTS", "")
    assert policy.number("BMS_TASK_SLOTS", 8) == 8
    monkeypatch.setenv("BMS_TASK_SLOTS", "4")
    assert policy.number("BMS_TASK_SLOTS", 8) == 4


@pytest.mark.parametrize("given", ["four", "0", "-1", "nan", "inf"])
def test_what_is_no_number_is_named_with_what_it_takes(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_TASK_SLOTS", given)
    with pytest.raises(ValueError, match=f"BMS_TASK_SLOTS holds '{given}'; it takes a number"):
        policy.number("BMS_TASK_SLOTS", 8)
