"""Notifiers: messages to the channels of the alarms, and requests to approvers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseNotifier

from bms_flows import extra
from bms_provider import flow_context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context


class BmsNotifier(BaseNotifier):
    """Sends a message with a link to the run, for example as ``on_failure_callback`` of a task.

    :param title: first line, and subject of a mail (templated).
    :param text: further lines (templated). Every recipient reads it: give no personal data.
    :param to: a mail address, or the connection id of a webhook (templated). Default: the
        channels of the alarms.
    """

    template_fields: Sequence[str] = ("title", "text", "to")

    def __init__(
        self,
        title: str = "{{ dag.dag_id }}: {{ ti.task_id }} is {{ ti.state }}",
        text: str = "",
        to: str = "",
    ) -> None:
        extra.require()
        super().__init__()
        self.title = title
        self.text = text
        self.to = to

    def notify(self, context: Context) -> None:
        """Send the message; raise `NotDelivered` if no channel accepts it."""
        from bms_flows.runtime.notice import Links, Notice  # noqa: PLC0415 - keeps DAG parsing fast
        from bms_provider import notices  # noqa: PLC0415

        settings, run = flow_context.flow_settings(), context["dag_run"]
        page = Links.of(settings).run(run.dag_id, run.run_id)
        lines = [*self.text.splitlines(), f"Run: {page}"]
        notices.send(Notice(self.title, tuple(lines)), settings, self.to)


class BmsApprovalNotifier(BaseNotifier):
    """Sends the requests for approval that are due; the watchdog repeats one that no channel accepted."""

    def notify(self, context: Context) -> None:  # noqa: ARG002 - Airflow's signature
        """Send the messages."""
        from bms_provider import notices  # noqa: PLC0415 - keeps DAG parsing fast

        settings = flow_context.onboarding_settings()
        with flow_context.open_context(settings) as flow:
            notices.notify_approvers(flow, settings)
