"""Notifiers that a team puts on its own tasks."""

from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG, TaskInstanceState

from bms_flows.runtime.notice import NotDelivered
from bms_provider.notifiers import BmsNotifier
from bms_provider.provider_info import get_provider_info
from tests.bms_provider.conftest import Connect
from tests.listeners import Webhook, webhook


def notify(notifier: BmsNotifier, **options: Any) -> None:
    """Call a notifier as Airflow calls it after a task failed."""
    context: Any = {
        "dag": DAG("my_dag", schedule=None, **options),
        "run_id": "manual__1",
        "ti": SimpleNamespace(task_id="load", state=TaskInstanceState.FAILED),
        "exception": ValueError("no rows"),
    }
    notifier(context)


def test_the_message_goes_to_the_channels_of_the_alarms(
    messages: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com")
    notify(BmsNotifier(text="Rows: {{ 1 + 1 }}"))
    [text] = messages.texts
    assert text.splitlines() == [
        "my_dag: load is failed",
        "Rows: 2",
        "Run: https://airflow.example.com/dags/my_dag/runs/manual__1",
    ]


def test_a_message_may_go_to_another_webhook(messages: Webhook, connect: Connect) -> None:
    with webhook() as team:
        connect("team_chat", conn_type="http", host=team.url)
        notify(BmsNotifier("Loaded", to="team_chat"))
    assert messages.texts == []
    assert team.texts[0].startswith("Loaded\n")


def test_native_templates_may_render_other_objects_than_texts(messages: Webhook) -> None:
    notify(BmsNotifier(text="{{ exception }}"), render_template_as_native_obj=True)
    assert "no rows" in messages.texts[0]


KILLED = {"ti": SimpleNamespace(task_id="load", state=None)}


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ({"reason": "timed_out"}, "timed_out"),
        ({"reason": "timed_out", **KILLED}, "timed_out"),
        (KILLED, "load is in an unknown state"),
    ],
    ids=["a run without a task", "a run", "a killed task"],
)
def test_the_callbacks_of_the_dag_processor_pass_no_state(
    messages: Webhook, given: dict[str, Any], title: str
) -> None:
    context: Any = {"dag": DAG("my_dag", schedule=None), "run_id": "r", **given}
    BmsNotifier()(context)
    assert messages.texts[0].startswith(f"my_dag: {title}\nRun: ")


def test_without_a_channel_the_error_names_the_connections() -> None:
    with pytest.raises(NotDelivered, match="configure bms_webhook or bms_mail"):
        notify(BmsNotifier("Loaded"))


def test_airflow_lists_the_notifiers() -> None:
    names = [f"{BmsNotifier.__module__}.{name}" for name in ("BmsApprovalNotifier", "BmsNotifier")]
    assert get_provider_info()["notifications"] == names
