"""Codes of mirrored records; fingerprints of tables and summaries of runs, for tests and the stack's output."""

import hashlib
from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import Connection, Table, func, select

from bms_warehouse import loads
from bms_warehouse.tables import control_total, step_run


def codes_in_use(
    connection: Connection, table: Table, columns: Iterable[str]
) -> dict[str, Collection[str]]:
    """Return the values that records have in each of `columns`, as texts."""
    return {
        name: frozenset(
            map(str, connection.scalars(select(table.c[name]).where(~table.c.deleted).distinct()))
        )
        - {"None", ""}
        for name in columns
    }


def fingerprint(connection: Connection, table: Table) -> str:
    """Return a SHA-256 over the interface's columns of `table`, in key order.

    Our own columns, which begin with `_`, are excluded: equal rows have equal fingerprints, whichever
    runs loaded them.
    """
    columns = ", ".join(f'"{c.name}"' for c in table.columns if not c.name.startswith("_"))
    key = ", ".join(f'"{c.name}"' for c in table.primary_key)
    digest = hashlib.sha256()
    statement = f"copy (select {columns} from {table} order by {key}) to stdout (format csv)"
    with loads.driver(connection).cursor() as cursor, cursor.copy(statement.encode()) as copy:
        for block in copy:
            digest.update(block)
    return digest.hexdigest()


def run_summary(connection: Connection, dag_run_id: str) -> list[dict[str, Any]]:
    """Return the reading steps of a run, latest attempt of each: entity, days, counts, totals.

    Days held for review are a separate step. `totals` maps a currency to its control totals.
    """
    nth = func.rank().over(
        partition_by=[step_run.c[name] for name in ("flow", "step", "id_entity", "window_start")],
        order_by=func.coalesce(step_run.c.held_by, step_run.c.id).desc(),
    )
    ranked = (
        select(step_run.c.id, nth.label("nth"))
        .where(step_run.c.dag_run_id == dag_run_id, step_run.c.id_entity.is_not(None))
        .subquery()
    )
    latest = select(ranked.c.id).where(ranked.c.nth == 1)
    tries = select(step_run).where(step_run.c.id.in_(latest)).order_by(step_run.c.id)
    steps = [dict(row) for row in connection.execute(tries).mappings()]
    for step in steps:
        totals = select(control_total).where(control_total.c.step_run_id == step["id"])
        step["totals"] = {
            row["currency"]: {
                name: value
                for name, value in row.items()
                if name not in ("step_run_id", "id_entity", "currency")
            }
            for row in connection.execute(totals).mappings()
        }
    return steps
