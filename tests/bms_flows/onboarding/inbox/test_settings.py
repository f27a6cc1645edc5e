import pytest

from bms_flows.onboarding.inbox.settings import InboxSettings
from bms_flows.onboarding.reading.sheet import DeclaredFormat
from bms_flows.runtime.settings import InvalidSetting


def test_an_inbox_declares_no_format_by_default() -> None:
    settings = InboxSettings.from_environment({})
    assert (settings.inbox_formats, settings.inbox_notices) == ({}, {})


def test_an_inbox_has_its_format_and_its_address() -> None:
    settings = InboxSettings.from_environment(
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
        InboxSettings.from_environment({variable: text})
