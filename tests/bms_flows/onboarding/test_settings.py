from zoneinfo import ZoneInfo

import pytest

from bms_flows.onboarding.settings import DeclaredFormat, OnboardingSettings
from bms_flows.runtime.settings import InvalidSetting


def test_the_defaults_are_as_documented() -> None:
    settings = OnboardingSettings.from_environment({})
    assert (settings.approval, settings.settle_s, settings.create_attempts) == (20, 30, 5)
    assert (settings.inbox_formats, settings.inbox_notices) == ({}, {})


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        *(("BMS_APPROVAL", text, "approval", text) for text in ("always", "never")),
        ("BMS_APPROVAL", "0", "approval", 0),
        ("BMS_CREATE_STOPPED_BY", "none", "stopping", set()),
        ("BMS_CREATE_STOPPED_BY", "403,405", "stopping", {403, 405}),
        ("BMS_APPROVAL_ALARM_HOURS", "off", "approval_alarm_hours", None),
        ("BMS_SETTLE_S", "0.3", "settle_s", 0.3),
        ("BMS_CREATE_ATTEMPTS", "3", "create_attempts", 3),
        ("BMS_TIME_ZONE", "UTC", "time_zone", ZoneInfo("UTC")),  # of all flows
    ],
)
def test_a_setting_is_read_from_its_variable(
    variable: str, text: str, name: str, value: object
) -> None:
    assert getattr(OnboardingSettings.from_environment({variable: text}), name) == value


@pytest.mark.parametrize(("people", "bodies"), [(100, 30), (14, 14)])
def test_creation_bodies_are_deleted_after_30_days_or_earlier(people: int, bodies: int) -> None:
    assert OnboardingSettings(keep_people_days=people).body_days == bodies


def test_an_inbox_has_its_format_and_its_address() -> None:
    settings = OnboardingSettings.from_environment(
        {
            "BMS_INBOX_FORMATS": '{"employees": {"dates": "dmy", "decimals": ","}}',
            "BMS_INBOX_NOTICES": '{"employees": "rh@example.com"}',
            "BMS_INBOX_LANGUAGES": '{"contacts": "EN"}',
            "BMS_APPROVERS": '{"employees": ["marie", "7"]}',
            "BMS_APPROVAL_NOTICES": '{"employees": "approvers"}',
            "BMS_DROP_STABLE_MINUTES": "7",
        }
    )
    assert settings.inbox_formats == {"employees": DeclaredFormat("dmy", ",")}
    assert settings.inbox_notices == {"employees": "rh@example.com"}
    assert settings.approvers == {"employees": ("marie", "7")}
    assert settings.approval_notices == {"employees": "approvers"}
    assert (settings.language_of("employees"), settings.language_of("contacts")) == ("FR", "EN")
    assert settings.drop_stable_minutes == 7


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("BMS_SETTLE_S", "-1"),
        ("BMS_CREATE_ATTEMPTS", "0"),
        ("BMS_CREATE_STOPPED_BY", "403;404"),
        ("BMS_INBOX_FORMATS", "dmy"),
        ("BMS_INBOX_FORMATS", '{"employees": {"dates": "jj/mm/aaaa"}}'),
        ("BMS_INBOX_FORMATS", '{"employees": {"date": "dmy"}}'),
        ("BMS_INBOX_NOTICES", '{"staff": "rh@example.com"}'),
        ("BMS_INBOX_NOTICES", '["rh@example.com"]'),
        ("BMS_INBOX_LANGUAGES", '{"employees": "DE"}'),
        ("BMS_APPROVERS", '{"employees": "marie"}'),
        ("BMS_APPROVERS", '{"employees": []}'),  # would let every editor of the DAG answer
        ("BMS_APPROVERS", '{"employees": [""]}'),
        ("BMS_APPROVAL_NOTICES", '{"staff": "rh@example.com"}'),
    ],
)
def test_an_unreadable_setting_is_named(variable: str, text: str) -> None:
    with pytest.raises(InvalidSetting, match=variable):
        OnboardingSettings.from_environment({variable: text})
