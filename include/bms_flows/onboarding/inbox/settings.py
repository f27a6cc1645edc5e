"""Settings of the inboxes: the formats of their files, and the recipients of notifications."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import msgspec

from bms_flows.onboarding.reading.sheet import DeclaredFormat
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.runtime.settings import FlowSettings, InvalidSetting, Language


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A format as the setting writes it."""

    dates: Literal["dmy", "mdy", "ymd"] = "dmy"
    decimals: Literal[",", "."] | None = None


UserIds = Annotated[
    tuple[Annotated[str, msgspec.Meta(min_length=1)], ...], msgspec.Meta(min_length=1)
]
"""An empty list would permit every user."""


@dataclass(frozen=True, kw_only=True)
class InboxSettings(FlowSettings):
    """Settings by the name of an inbox's folder, in addition to those of all flows."""

    inbox_formats: Mapping[str, DeclaredFormat] = field(default_factory=dict)
    """Formats of dates and decimals in an inbox's files, `{"employees": {"dates": "dmy", "decimals": ","}}` (dates: `dmy`, `mdy` or `ymd`, default `dmy`; decimals: `,` or `.`, by default determined from each column's cells)."""
    inbox_notices: Mapping[str, str] = field(default_factory=dict)
    """Recipient of the notification when a drop ends, `{"employees": "rh@example.com"}`: a mail address (sent through the connection `bms_mail`), or the id of a connection of type `http`."""

    inbox_languages: Mapping[str, Language] = field(default_factory=dict)
    """Language of an inbox's approval requests and notifications, of the board's pages of its drops, and of `_hint` in reports, `{"contacts": "EN"}`; by default `BMS_LANGUAGE`."""

    approvers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Ids of the Airflow users who may answer an inbox's approval requests, `{"employees": ["marie", "paul"]}`; with the FAB auth manager, the numbers that `airflow users list` shows, `{"employees": ["3", "7"]}`. By default every user who may edit the DAG."""
    approval_notices: Mapping[str, str] = field(default_factory=dict)
    """Recipient of an inbox's approval requests and reminders, `{"employees": "rh@example.com"}`: an address or a connection, as in `BMS_INBOX_NOTICES`; by default the recipients of alarms."""

    def language_of(self, inbox: str) -> Language:
        """Return the language of an inbox."""
        return self.inbox_languages.get(inbox, self.language)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "InboxSettings":
        """Read `BMS_*`; raise `InvalidSetting` with the remedy when one can't be read."""
        given = dict(os.environ if environment is None else environment)
        own: dict[str, Any] = {}
        if text := given.pop("BMS_INBOX_FORMATS", ""):
            written = _by_inbox("BMS_INBOX_FORMATS", text, Written)
            own["inbox_formats"] = {
                inbox: DeclaredFormat(each.dates, each.decimals) for inbox, each in written.items()
            }
        if text := given.pop("BMS_INBOX_NOTICES", ""):
            own["inbox_notices"] = _by_inbox("BMS_INBOX_NOTICES", text, str)
        if text := given.pop("BMS_INBOX_LANGUAGES", ""):
            own["inbox_languages"] = _by_inbox("BMS_INBOX_LANGUAGES", text, Language)
        if text := given.pop("BMS_APPROVERS", ""):
            own["approvers"] = _by_inbox("BMS_APPROVERS", text, UserIds)
        if text := given.pop("BMS_APPROVAL_NOTICES", ""):
            own["approval_notices"] = _by_inbox("BMS_APPROVAL_NOTICES", text, str)
        return replace(super().from_environment(given), **own)


def _by_inbox(variable: str, text: str, kind: Any) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text, type=dict[str, kind])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise InvalidSetting(
            f"{variable} must be a JSON object with inboxes as names: {error}"
        ) from None
    _known(variable, found)
    return found


def _known(variable: str, names: Iterable[str]) -> None:
    inboxes = {remote.resource.inbox for remote in REMOTES.values()}
    if unknown := sorted(set(names) - inboxes):
        raise InvalidSetting(
            f"{variable} names {', '.join(unknown)}; the inboxes are {', '.join(sorted(inboxes))}"
        )
