"""Addresses: of the board's own pages, and of Airflow's pages for what they show."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

PREFIX = "/bms"


@dataclass(frozen=True)
class Links:
    """Addresses as a browser sees them; `board` is where the board is mounted."""

    board: str

    @property
    def airflow(self) -> str:
        """Where Airflow is, with no slash at the end."""
        return self.board.removesuffix(PREFIX)

    def static(self, name: str) -> str:
        """Return a static file of the board."""
        return f"{self.board}/static/{name}"

    def overview(self) -> str:
        """Return the board's first page."""
        return f"{self.board}/"

    def flow(self, flow: str) -> str:
        """Return the board's page of a flow."""
        return f"{self.board}/flows/{_part(flow)}"

    def step(self, number: int) -> str:
        """Return the board's page of a step."""
        return f"{self.board}/steps/{number}"

    def dag(self, dag: str) -> str:
        """Return Airflow's page of a DAG."""
        return f"{self.airflow}/dags/{_part(dag)}"

    def run(self, dag: str, run: str) -> str:
        """Return Airflow's page of a run."""
        return f"{self.dag(dag)}/runs/{_part(run)}"

    def log(self, dag: str, run: str, task: str) -> str:
        """Return Airflow's page of a task in a run, where its logs are."""
        return f"{self.run(dag, run)}/tasks/{_part(task)}"

    def approval(self, dag: str, run: str) -> str:
        """Return Airflow's page where a run's questions are answered."""
        return f"{self.run(dag, run)}/required_actions"


def _part(name: str) -> str:
    """Return a name as one part of a path: slashes and dots of a name lead nowhere."""
    return quote(name, safe="").replace(".", "%2E") if set(name) <= {"."} else quote(name, safe="")
