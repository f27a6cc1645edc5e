"""A loop of requests, a pandas DataFrame, `to_sql`: what is written first where Airflow's own HTTP hook is at hand.

One request after another over one session, kinder than `HttpHook`, which makes a new one for each.
Invoices: each window's rows are deleted and written again, in one transaction. Contacts: all pages
are gathered and the table is replaced.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import requests
import sqlalchemy as sa
from task import SCHEMA, Task, given, timed


def contacts(task: Task, session: requests.Session, engine: sa.Engine) -> None:
    """Replace the table by the current list."""

    def rows() -> Iterator[dict[str, Any]]:
        number, pages = 1, 1
        while number <= pages:
            answer = session.get(f"{task.url}/{task.path}", params=task.page(number))
            answer.raise_for_status()
            pages, number = answer.json()["total_pages"], number + 1
            yield from answer.json()["data"]

    frame = pd.DataFrame(rows())
    frame.to_sql(task.table, engine, schema=SCHEMA, if_exists="replace", index=False)


def invoices(task: Task, session: requests.Session, engine: sa.Engine) -> None:
    """Delete and write each window."""
    exists = sa.inspect(engine).has_table(task.table, SCHEMA)
    delete = sa.text(
        f"delete from {SCHEMA}.{task.table} "  # noqa: S608 - names of ours
        "where invoice_date between :start_date and :end_date"
    )
    for window in task.windows():
        answer = session.get(f"{task.url}/{task.path}", params=window)
        answer.raise_for_status()
        frame = pd.DataFrame(answer.json())
        with engine.begin() as connection:
            if exists:
                connection.execute(delete, window)
            frame.to_sql(task.table, connection, schema=SCHEMA, if_exists="append", index=False)


def load(task: Task) -> None:
    """Load once."""
    # The driver that Airflow's PostgresHook uses.
    engine = sa.create_engine(task.database.replace("postgresql:", "postgresql+psycopg2:"))
    with engine.begin() as connection:
        connection.execute(sa.text(f"create schema if not exists {SCHEMA}"))
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {task.token()}"
        {"contacts": contacts, "invoices": invoices}[task.work](task, session, engine)
    engine.dispose()


if __name__ == "__main__":
    task = given()
    timed(lambda: load(task))
