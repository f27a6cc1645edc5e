"""Read the details of every active contact, one task per contact.

Needs the connection `bms_default`. Only the ids of the contacts go to XCom; the details are personal
data and go to files. For thousands of contacts, use the DAG `contact_sync`: Airflow maps a list of
1,024 items at most by default.
"""

from typing import Any

from airflow.sdk import dag, task

from bms_provider.operators.contacts import BmsListContactsOperator, BmsReadContactOperator


@task(multiple_outputs=False)
def count_by_client(manifests: Any) -> dict[str, int]:
    """Count the contacts of each client."""
    from bms_provider.files import read_df  # noqa: PLC0415 - keeps parsing the DAG fast

    clients = read_df(manifests)["id_client"].value_counts()
    return {str(client): int(contacts) for client, contacts in clients.items()}


@dag(
    schedule=None,
    doc_md=__doc__,
    tags=["example", "bms"],
)
def example_bms_contact_details() -> None:
    """List the ids, read each contact, count."""
    # [START mapped read]
    ids = BmsListContactsOperator(
        task_id="list_ids", filter="ACTIVE", output="xcom", fields="id"
    ).output
    contacts = BmsReadContactOperator.partial(task_id="read_contact").expand(id_contact=ids)
    # [END mapped read]
    # With pool="bms_service" in partial(), the tasks of all DAGs share a limit of requests:
    # create the pool first, since tasks of a missing pool stay scheduled.
    count_by_client(contacts.output)


example_bms_contact_details()
