"""Links to the board's pages and to Airflow's pages, below the address that the browser requested."""

from dataclasses import dataclass
from typing import Self

from fastapi import Request

from bms_flows.runtime import notice
from bms_flows.runtime.notice import BOARD, segment
from bms_flows.runtime.settings import FlowSettings
from bms_provider.board.flows import task_of


@dataclass(frozen=True)
class Links(notice.Links):
    """Addresses in the browser."""

    @classmethod
    def of_request(cls, request: Request, settings: FlowSettings) -> Self:
        """Return the links of the pages of a request."""
        return cls.below(request.scope.get("root_path", "").removesuffix(BOARD), settings)

    def static(self, name: str) -> str:
        """Return the address of a static file of the board."""
        return f"{self.board}/static/{name}"

    def overview(self) -> str:
        """Return the board's first page."""
        return f"{self.board}/"

    def inbox(self, flow: str) -> str:
        """Return the board's page of a flow's inbox."""
        return f"{self.flow(flow)}/inbox"

    def upload(self, flow: str, token: str) -> str:
        """Return the board's page of an uploaded file."""
        return f"{self.inbox(flow)}/{token}"

    def load(self, flow: str, run: str) -> str:
        """Return the board's page of a run."""
        return f"{self.flow(flow)}/runs/{segment(run)}"

    def load_at(self, flow: str, run: str, step: int) -> str:
        """Return the section of a step on the board's page of its run."""
        return f"{self.load(flow, run)}?step={step}#step-{step}"

    def step(self, number: int) -> str:
        """Return the board's page of a step."""
        return f"{self.board}/steps/{number}"

    def file(self, page: str, name: str) -> str:
        """Return a report file of the step or drop with this page."""
        return f"{page}/files/{segment(name)}"

    def sign_in(self, address: str) -> str:
        """Return Airflow's sign-in, which leads back to `address`."""
        return f"{self.airflow}/api/v2/auth/login?next={segment(address)}"

    def log(self, dag: str, run: str, step: str, mapped: bool) -> str | None:
        """Return Airflow's page of the task that recorded a step, with its logs; None if unknown.

        For a mapped task: the page of the mapped instance, or of all instances if it is unknown.
        """
        task, index = task_of(step)
        if task is None:
            return None
        page = f"{self.run(dag, run)}/tasks/{segment(task)}"
        if index is not None:
            return f"{page}/mapped/{index}"
        return f"{page}/mapped" if mapped else page

    def trigger(self, dag: str) -> str:
        """Return the address of Airflow's API that triggers a DAG."""
        return f"{self.airflow}/api/v2/dags/{segment(dag)}/dagRuns"
