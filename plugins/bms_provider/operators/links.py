"""Links of a task in Airflow's UI: to the board, and to the file that the task wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseOperatorLink

from bms_provider import addresses, files

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey


class BmsBoardLink(BaseOperatorLink):
    """Link to the board: to the page of the run in the project's DAGs, else to its first page."""

    name = "BMS board"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002 - Airflow's signature
        """Return the address."""
        from bms_flows.catalog import FLOWS  # noqa: PLC0415 - operators import only the client

        ours = ti_key.dag_id in FLOWS and FLOWS[ti_key.dag_id].on_board
        page = addresses.board_run(ti_key.dag_id, ti_key.run_id) if ours else f"{addresses.BOARD}/"
        return addresses.airflow() + page


class BmsFileLink(BaseOperatorLink):
    """Link to the file of the task, for users who may edit the DAG.

    Empty if the task wrote no file, or one outside the default folder ``operators/<dag_id>/``.
    """

    name = "BMS file"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address, or an empty text."""
        folder = f"{files.OPERATOR_FILES}/{ti_key.dag_id}/"
        path = str(getattr(operator, "path", ""))
        if getattr(operator, "to_xcom", True) or not path.startswith(folder):
            return ""
        return addresses.airflow() + addresses.task_file(ti_key.dag_id, path.removeprefix(folder))
