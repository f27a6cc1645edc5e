"""Read the invoices of a week into a DataFrame and load them into a table of your own.

Needs the connections `bms_default` and `my_database` (type postgres). A run that is repeated, or two
weeks that overlap, leave each invoice once: rows are replaced by their key.
"""

from typing import Any

from airflow.sdk import CronDataIntervalTimetable, Param, dag, task

from bms_provider.operators.invoices import BmsListClientInvoicesOperator

TABLE = """
    create table if not exists invoice (
        id_invoice bigint primary key,
        invoice_date date,
        due_date date,
        currency text,
        total_due numeric not null,
        created_on timestamptz
    )
"""


@task
def load(manifest: Any) -> int:
    """Load the invoices, paid ones too: a row of an invoice paid since would stay; return their number."""
    from airflow.providers.postgres.hooks.postgres import PostgresHook  # noqa: PLC0415 - keeps parsing fast

    from bms_provider.files import read_df  # noqa: PLC0415

    columns = ["id_invoice", "invoice_date", "due_date", "currency", "total_due", "created_on"]
    invoices = read_df(manifest)[columns].astype(object)
    rows = invoices.where(invoices.notna(), None).itertuples(index=False, name=None)
    database: Any = PostgresHook("my_database")
    database.run(TABLE)
    database.insert_rows(
        "invoice", rows, target_fields=columns, replace=True, replace_index="id_invoice"
    )
    return len(invoices)


@dag(
    schedule=CronDataIntervalTimetable("0 6 * * 1", timezone="Europe/Paris"),
    params={"id_entity": Param(1, type="integer", title="Entity")},
    is_paused_upon_creation=True,
    doc_md=__doc__,
    tags=["example", "bms"],
)
def example_bms_invoices_to_table() -> None:
    """List, then load."""
    invoices = BmsListClientInvoicesOperator(
        task_id="list_invoices",
        id_entity="{{ params.id_entity }}",
        first_day="{{ data_interval_start.in_tz('Europe/Paris') | ds }}",
        last_day="{{ data_interval_end.in_tz('Europe/Paris') | ds }}",
    )
    load(invoices.output)


example_bms_invoices_to_table()
