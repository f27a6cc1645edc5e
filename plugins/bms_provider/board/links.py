"""Addresses: of the board's own pages, and of Airflow's pages for what they show."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from bms_provider import addresses
from bms_provider.board.flows import task_of


@dataclass(frozen=True)
class Links:
    """Addresses as a browser sees them; `board` is where the board is mounted."""

    board: str

    @property
    def airflow(self) -> str:
        """Where Airflow is, with no slash at the end."""
        return self.board.removesuffix(addresses.BOARD)

    def static(self, name: str) -> str:
        """Return a static file of the board."""
        return f"{self.board}/static/{name}"

    def overview(self) -> str:
        """Return the board's first page."""
        return f"{self.board}/"

    def flow(self, flow: str) -> str:
        """Return the board's page of a flow."""
        return f"{self.board}/flows/{_part(flow)}"

    def load(self, flow: str, run: str) -> str:
        """Return the board's page of a run."""
        return f"{self.flow(flow)}/runs/{_part(run)}"

    def load_at(self, flow: str, run: str, step: int) -> str:
        """Return the place of a step on the board's page of its run."""
        return f"{self.load(flow, run)}?step={step}#step-{step}"

    def step(self, number: int) -> str:
        """Return the board's page of a step."""
        return f"{self.board}/steps/{number}"

    def drop(self, number: int) -> str:
        """Return the board's page of a drop."""
        return f"{self.board}/drops/{number}"

    def file(self, page: str, name: str) -> str:
        """Return a file of the report of a step or drop, whose page is given."""
        return f"{page}/files/{_part(name)}"

    def dag(self, dag: str) -> str:
        """Return Airflow's page of a DAG."""
        return f"{self.airflow}/dags/{_part(dag)}"

    def run(self, dag: str, run: str) -> str:
        """Return Airflow's page of a run."""
        return f"{self.dag(dag)}/runs/{_part(run)}"

    def log(self, dag: str, run: str, step: str, mapped: bool) -> str | None:
        """Return Airflow's page of the task that did a step, where its logs are; None if several may have.

        Of a mapped task it is that of its part, or of all its parts where the step doesn't say which.
        """
        task, part = task_of(step)
        if task is None:
            return None
        page = f"{self.run(dag, run)}/tasks/{_part(task)}"
        if part is not None:
            return f"{page}/mapped/{part}"
        return f"{page}/mapped" if mapped else page

    def approval(self, dag: str, run: str) -> str:
        """Return Airflow's page where a run's questions are answered."""
        return f"{self.run(dag, run)}/required_actions"


def _part(name: str) -> str:
    """Return a name as one part of a path, whatever it holds."""
    return quote(name, safe="")
