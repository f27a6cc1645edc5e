"""Notifiers: messages to the channels of the alarms, and requests to approvers."""

from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseNotifier, Context, TaskInstanceState

from bms_flows import extra
from bms_provider import flow_context


class BmsNotifier(BaseNotifier):
    """Sends a message with a link to the run, for example as ``on_failure_callback`` of a task.

    :param title: first line, and subject of a mail (templated). Default: DAG, task and state.
    :param text: further lines (templated), without personal data: every recipient reads them.
    :param to: a mail address, or the connection id of a webhook (templated). Default: the
        channels of the alarms.
    """

    template_fields: Sequence[str] = ("title", "text", "to")

    def __init__(
        self,
        title: str = "",
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

        settings = flow_context.flow_settings()
        page = Links.of(settings).run(context["dag"].dag_id, context["run_id"])
        lines = (*str(self.text).splitlines(), f"Run: {page}")
        title = str(self.title) or f"{context['dag'].dag_id}: {_outcome(context)}"
        notices.send(Notice(title, lines), settings, self.to)


def _outcome(context: Any) -> str:
    """Return how a task or, in the callback of a DAG, the run ended.

    The DAG processor, which calls those of runs and of killed tasks, knows no state of a task.
    """
    if reason := context.get("reason"):
        return str(reason)
    task, state = context["ti"].task_id, context["ti"].state
    return f"{task} is {TaskInstanceState(state).value if state else 'in an unknown state'}"


class BmsApprovalNotifier(BaseNotifier):
    """Sends the requests for approval that are due; the watchdog repeats one that no channel accepted."""

    def notify(self, context: Context) -> None:  # noqa: ARG002 - Airflow's signature
        """Send the messages."""
        from bms_provider import notices  # noqa: PLC0415 - keeps DAG parsing fast

        settings = flow_context.onboarding_settings()
        with flow_context.open_context(settings) as flow:
            notices.notify_approvers(flow, settings)
