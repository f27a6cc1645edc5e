"""Links to the board's pages and to Airflow's pages."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from bms_provider import addresses
from bms_provider.board.flows import task_of


@dataclass(frozen=True)
class Links:
    """Addresses in the browser; `board` is the path where the board is mounted."""

    board: str

    @property
    def airflow(self) -> str:
        """Airflow's path, without a slash at the end."""
        return self.board.removesuffix(addresses.BOARD)

    def static(self, name: str) -> str:
        """Return the address of a static file of the board."""
        return f"{self.board}/static/{name}"

    def overview(self) -> str:
        """Return the board's first page."""
        return f"{self.board}/"

    def runbook(self) -> str:
        """Return the board's page of reason codes."""
        return f"{self.board}/runbook"

    def flow(self, flow: str) -> str:
        """Return the board's page of a flow."""
        return f"{self.board}/flows/{_part(flow)}"

    def inbox(self, flow: str) -> str:
        """Return the board's page of a flow's inbox."""
        return f"{self.flow(flow)}/inbox"

    def upload(self, flow: str, token: str) -> str:
        """Return the board's page of an uploaded file."""
        return f"{self.inbox(flow)}/{token}"

    def load(self, flow: str, run: str) -> str:
        """Return the board's page of a run."""
        return f"{self.flow(flow)}/runs/{_part(run)}"

    def load_at(self, flow: str, run: str, step: int) -> str:
        """Return the section of a step on the board's page of its run."""
        return f"{self.load(flow, run)}?step={step}#step-{step}"

    def step(self, number: int) -> str:
        """Return the board's page of a step."""
        return f"{self.board}/steps/{number}"

    def drop(self, number: int) -> str:
        """Return the board's page of a drop."""
        return f"{self.board}/drops/{number}"

    def plan(self, drop: int, plan: str) -> str:
        """Return the board's page of a plan, with its rows."""
        return f"{self.drop(drop)}/plans/{_part(plan[:12])}"

    def file(self, page: str, name: str) -> str:
        """Return a report file of the step or drop with this page."""
        return f"{page}/files/{_part(name)}"

    def sign_in(self, address: str) -> str:
        """Return Airflow's sign-in, which leads back to `address`."""
        return f"{self.airflow}/api/v2/auth/login?next={_part(address)}"

    def dag(self, dag: str) -> str:
        """Return Airflow's page of a DAG."""
        return f"{self.airflow}/dags/{_part(dag)}"

    def run(self, dag: str, run: str) -> str:
        """Return Airflow's page of a run."""
        return f"{self.dag(dag)}/runs/{_part(run)}"

    def log(self, dag: str, run: str, step: str, mapped: bool) -> str | None:
        """Return Airflow's page of the task that recorded a step, with its logs; None if unknown.

        For a mapped task: the page of the mapped instance, or of all instances if it is unknown.
        """
        task, index = task_of(step)
        if task is None:
            return None
        page = f"{self.run(dag, run)}/tasks/{_part(task)}"
        if index is not None:
            return f"{page}/mapped/{index}"
        return f"{page}/mapped" if mapped else page

    def trigger(self, dag: str) -> str:
        """Return the address of Airflow's API that triggers a DAG."""
        return f"{self.airflow}/api/v2/dags/{_part(dag)}/dagRuns"

    def approval(self, dag: str, run: str) -> str:
        """Return Airflow's page with the approval requests of a run."""
        return f"{self.run(dag, run)}/required_actions"


def _part(name: str) -> str:
    """Return a name quoted as one segment of a path."""
    return quote(name, safe="")
