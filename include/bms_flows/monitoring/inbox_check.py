"""Check of the inboxes: creates and tidies them, and raises an alarm of one that is unusable."""

from collections.abc import Sequence
from typing import Final

from bms_flows.monitoring import alarms
from bms_flows.onboarding.inbox.templates import InboxGone
from bms_flows.onboarding.inboxes import Inbox
from bms_flows.runtime import storage

CODE: Final = "data_root_unusable"
SUBJECT: Final = "inbox"


def check(inboxes: Sequence[Inbox]) -> None:
    """Create the inboxes and tidy them; open an alarm if one is unusable, and raise its error.

    Nothing else notices: without access to an inbox, no file is announced, so no run fails.
    """
    flow, problems = inboxes[0].flow, list[Exception]()
    for inbox in inboxes:
        try:
            with storage.explain_refusal(flow.data_root):
                inbox.provide()
                inbox.tidy()
        except (storage.DataRootRefused, storage.StorageFailed, InboxGone) as error:
            problems.append(error)
    details = "; ".join(map(str, problems))
    with flow.warehouse.begin() as connection:
        alarms.update_all(connection, CODE, {SUBJECT: {"detail": f"{details}."}} if details else {})
    if problems:
        raise problems[0]
