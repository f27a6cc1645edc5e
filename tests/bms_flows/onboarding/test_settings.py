import pytest

from bms_flows.onboarding.settings import DeclaredFormat, OnboardingSettings
from bms_flows.runtime.settings import InvalidSetting


def test_the_defaults_are_as_documented() -> None:
    settings = OnboardingSettings.from_environment({})
    assert (settings.approval, settings.settle_s, settings.create_attempts) == (20, 30, 5)
    assert (settings.inbox_formats, settings.inbox_notices) == ({}, {})


@pytest.mark.parametrize(("text", "value"), [("always", "always"), ("never", "never"), ("0", 0)])
def test_approval_is_always_never_or_a_number_of_rows(text: str, value: object) -> None:
    assert OnboardingSettings.from_environment({"BMS_APPROVAL": text}).approval == value


@pytest.mark.parametrize(("text", "found"), [("none", set()), ("403,405", {403, 405})])
def test_statuses_that_stop_all_sending_are_set(text: str, found: set[int]) -> None:
    assert OnboardingSettings.from_environment({"BMS_CREATE_STOPPED_BY": text}).stopping == found


def test_an_alarm_of_approvals_is_switched_off() -> None:
    settings = OnboardingSettings.from_environment({"BMS_APPROVAL_ALARM_HOURS": "off"})
    assert settings.approval_alarm_hours is None


@pytest.mark.parametrize(("people", "bodies"), [(100, 30), (14, 14)])
def test_creation_bodies_are_deleted_after_30_days_or_earlier(people: int, bodies: int) -> None:
    assert OnboardingSettings(keep_people_days=people).body_days == bodies


def test_variables_are_read_beside_those_of_all_flows() -> None:
    settings = OnboardingSettings.from_environment(
        {"BMS_SETTLE_S": "0.3", "BMS_CREATE_ATTEMPTS": "3", "BMS_TIME_ZONE": "UTC"}
    )
    assert (settings.settle_s, settings.create_attempts) == (0.3, 3)
    assert settings.time_zone.key == "UTC"


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
