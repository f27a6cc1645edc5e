"""Dropped files are taken as they come, each once, and given a run of their own.

A watch over the inboxes announces that something lies there; this DAG takes every file that is
settled (unchanged over two looks, its last line complete), enters it in `bms.drop`, and starts the
flow of its resource. The started run's id is minted from the entered row, so that no file is
worked on twice, whatever is killed and started again.
"""

from __future__ import annotations

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import Asset, AssetWatcher, dag, task

from bms_flows.catalog import CREATED_BY
from bms_provider import policy
from bms_provider.triggers.inbox import InboxTrigger

INBOX = Asset(
    "bms_inbox",
    watchers=[
        AssetWatcher(
            name="bms_inbox",
            trigger=InboxTrigger(inboxes=["employees", "contacts", "consultants"]),
        )
    ],
)


@dag(schedule=[INBOX], doc_md=__doc__, max_active_runs=1, **policy.dag_arguments("drops"))
def inbox_dispatch() -> None:
    """Take, then start."""

    @task
    def take(name: str) -> list[dict[str, object]]:
        """Take the settled files of one inbox; return the run to be started for each."""
        from bms_provider.tasks import inbox

        return inbox.dispatch(name)

    for name, flow in CREATED_BY.items():
        TriggerDagRunOperator.partial(
            task_id=f"start_{flow.dag_id}",
            trigger_dag_id=flow.dag_id,
            skip_when_already_exists=True,
        ).expand_kwargs(take.override(task_id=f"take_{name}")(name))


inbox_dispatch()
