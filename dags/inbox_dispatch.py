"""Starts a run for each dropped file.

A trigger watches the inboxes and starts this DAG when files arrive. The DAG claims every settled file
(unchanged between two checks, last line complete), records it in `bms.dropped_file`, and starts the DAG that
processes it. The id of that run is derived from the recorded row, so a file is processed once even if
tasks are killed and restarted.
"""

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import Asset, AssetWatcher, dag

from bms_flows.catalog import CREATED_BY
from bms_provider import policy
from bms_provider.operators.flows.drops import BmsDispatchInboxOperator
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
    """Claim the settled files, start their runs."""
    for name, flow in CREATED_BY.items():
        TriggerDagRunOperator.partial(
            task_id=f"start_{flow.dag_id}",
            trigger_dag_id=flow.dag_id,
            skip_when_already_exists=True,
        ).expand_kwargs(BmsDispatchInboxOperator(task_id=f"take_{name}", resource=name).output)


DAG = inbox_dispatch()
