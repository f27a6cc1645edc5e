"""Program that runs every DAG of a folder once and prints their return values as JSON on its last line.

The environment names Airflow's database and the connections.
"""

import json
import sys
from typing import Any

import pendulum
from airflow.dag_processing.dagbag import DagBag
from airflow.models.xcom import XComModel
from airflow.utils.db import initdb
from airflow.utils.session import create_session
from sqlalchemy import select

DAY = pendulum.datetime(2026, 3, 2)


def returned(dag_id: str) -> dict[str, list[Any]]:
    """Return the values in XCom of each task, by map index."""
    with create_session() as session:
        rows = session.execute(
            select(XComModel.task_id, XComModel.value)
            .where(XComModel.dag_id == dag_id, XComModel.key == "return_value")
            .order_by(XComModel.map_index)
        ).all()
    found: dict[str, list[Any]] = {}
    for task_id, value in rows:
        found.setdefault(task_id, []).append(json.loads(value) if isinstance(value, str) else value)
    return found


def main(folder: str) -> None:
    """Run the DAGs of a folder."""
    initdb()
    bag = DagBag(folder)
    results = {}
    for dag_id, dag in sorted(bag.dags.items()):
        by_interval = "DataInterval" in type(dag.timetable).__name__
        run = dag.test(logical_date=DAY if by_interval else None)
        states = {f"{ti.task_id}{ti.map_index}": str(ti.state) for ti in run.get_task_instances()}
        results[dag_id] = {"states": states, "returned": returned(dag_id)}
    print(json.dumps({"errors": bag.import_errors, "results": results}))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
