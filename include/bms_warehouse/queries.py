"""What people ask of the warehouse, as queries."""

from typing import Any

from sqlalchemy import Connection, select

from bms_warehouse.tables import control_total, run


def run_summary(connection: Connection, dag_run_id: str) -> list[dict[str, Any]]:
    """Return the reading steps of a run, the latest try of each: entity, days, counts, totals.

    `totals` maps a currency to its control totals.
    """
    tries = (
        select(run)
        .where(run.c.dag_run_id == dag_run_id, run.c.id_entity.is_not(None))
        .distinct(run.c.flow, run.c.step, run.c.id_entity, run.c.window_start)
        .order_by(run.c.flow, run.c.step, run.c.id_entity, run.c.window_start, run.c.id.desc())
    )
    steps = [dict(row) for row in connection.execute(tries).mappings()]
    for step in steps:
        totals = select(control_total).where(control_total.c.run_id == step["id"])
        step["totals"] = {
            row["currency"]: {
                name: value
                for name, value in row.items()
                if name not in ("run_id", "id_entity", "currency")
            }
            for row in connection.execute(totals).mappings()
        }
    return steps
