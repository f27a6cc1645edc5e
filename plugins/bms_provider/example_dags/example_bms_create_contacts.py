"""Create a contact for each new row of a table of your own.

Needs the connections `bms_default` and `my_database` (type postgres). Airflow stores no personal
data: the keys of the rows go through XCom, and each creating task reads its row while it runs.

A row is claimed before it is sent, so that no row is sent twice. A row that stays in the state
`claimed` needs a decision: look for the contact in the service, then set `id_contact`, or the state
`new` to send the row again.
"""

from typing import Any

from airflow.sdk import Context, dag, task

from bms_provider.operators.contacts import BmsCreateContactOperator

TABLE = """
    create table if not exists signup (
        id bigint primary key,
        first_name text not null,
        last_name text not null,
        email text not null,
        state text not null default 'new',
        id_contact bigint
    )
"""


@task
def claim_new_rows() -> list[dict[str, int]]:
    """Claim up to 50 new rows; return the key of each."""
    from airflow.providers.postgres.hooks.postgres import PostgresHook  # noqa: PLC0415 - keeps parsing fast

    claim = """
        update signup set state = 'claimed'
        where id in (select id from signup where state = 'new' order by id limit 50 for update)
        returning id
    """
    database = PostgresHook("my_database")
    database.run(TABLE)
    rows: Any = database.run(claim, handler=lambda cursor: cursor.fetchall())
    return [{"signup": key} for (key,) in rows]


def body_of(context: Context) -> dict[str, Any]:
    """Return the creation body of the row that the task's params name."""
    from airflow.providers.postgres.hooks.postgres import PostgresHook  # noqa: PLC0415 - keeps parsing fast

    row: Any = PostgresHook("my_database").get_first(
        "select first_name, last_name, email from signup where id = %s",
        parameters=(context["params"]["signup"],),
    )
    return dict(zip(("first_name", "last_name", "email"), row, strict=True))


@task
def store(created: tuple[dict[str, int], dict[str, int]]) -> None:
    """Store the id of a created contact in its row."""
    from airflow.providers.postgres.hooks.postgres import PostgresHook  # noqa: PLC0415 - keeps parsing fast

    key, contact = created
    PostgresHook("my_database").run(
        "update signup set state = 'created', id_contact = %s where id = %s",
        parameters=(contact["id"], key["signup"]),
    )


@dag(
    schedule=None,
    doc_md=__doc__,
    tags=["example", "bms"],
)
def example_bms_create_contacts() -> None:
    """Claim, create, store."""
    keys = claim_new_rows()
    created = BmsCreateContactOperator.partial(task_id="create_contact", body=body_of).expand(
        params=keys
    )
    store.expand(created=keys.zip(created.output))


example_bms_create_contacts()
