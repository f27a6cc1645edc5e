"""Settings of the inboxes: the formats of their files, and the recipients of notifications."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from bms_flows.onboarding.reading.sheet import DeclaredFormat
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.runtime.settings import FlowSettings, Language

INBOXES = "|".join(remote.resource.inbox for remote in REMOTES.values())
Inbox = Annotated[str, Meta(pattern=f"^({INBOXES})$")]
"""Name of an inbox's folder."""
UserIds = Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1)]
"""An empty list would permit every user."""


@dataclass(frozen=True, kw_only=True)
class InboxSettings(FlowSettings):
    """Settings by the name of an inbox's folder, in addition to those of all flows."""

    inbox_formats: Mapping[Inbox, DeclaredFormat] = field(default_factory=dict)
    """Formats of dates and decimals in an inbox's files, `{"employees": {"dates": "dmy", "decimals": ","}}` (dates: `dmy`, `mdy` or `ymd`, default `dmy`; decimals: `,` or `.`, by default determined from each column's cells)."""
    inbox_notices: Mapping[Inbox, str] = field(default_factory=dict)
    """Recipient of the notification when a drop ends, `{"employees": "rh@example.com"}`: a mail address (sent through the connection `bms_mail`), or the id of a connection of type `http`."""

    inbox_languages: Mapping[Inbox, Language] = field(default_factory=dict)
    """Language of an inbox's approval requests and notifications, of the board's pages of its drops, and of `_hint` in reports, `{"contacts": "EN"}`; by default `BMS_LANGUAGE`."""

    approvers: Mapping[Inbox, UserIds] = field(default_factory=dict)
    """Ids of the Airflow users who may answer an inbox's approval requests, `{"employees": ["marie", "paul"]}`; with the FAB auth manager, the numbers that `airflow users list` shows, `{"employees": ["3", "7"]}`. By default every user who may edit the DAG."""
    approval_notices: Mapping[Inbox, str] = field(default_factory=dict)
    """Recipient of an inbox's approval requests and reminders, `{"employees": "rh@example.com"}`: an address or a connection, as in `BMS_INBOX_NOTICES`; by default the recipients of alarms."""

    def language_of(self, inbox: str) -> Language:
        """Return the language of an inbox."""
        return self.inbox_languages.get(inbox, self.language)
