"""Notices: messages to operators and HR users, without personal data, and their delivery."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote
from zoneinfo import ZoneInfo

from bms_flows.runtime.settings import FlowSettings

log = logging.getLogger(__name__)

BOARD = "/bms"
"""Path of the board below Airflow's address; `bms_provider.addresses` mounts it there."""


@dataclass(frozen=True)
class Notice:
    """A message of figures, days, codes and links, without names, keys or cells."""

    title: str
    lines: tuple[str, ...]

    @property
    def body(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    @property
    def text(self) -> str:
        """Title and lines as one text."""
        return f"{self.title}\n{self.body}"


Send = Callable[[Notice], None]
"""Sends a notice over a channel; raises if the channel fails."""


class ChannelError(RuntimeError):
    """A channel could not deliver a notice; the text contains no address and no secret."""


class NotDelivered(RuntimeError):
    """No channel delivered a notice; the next attempt sends it again."""

    retriable = True


def broadcast(channels: Mapping[str, Send]) -> Send:
    """Return a function that sends a notice over every channel; it raises `NotDelivered` if all fail."""

    def send(notice: Notice) -> None:
        refused = {}
        for name, channel in channels.items():
            try:
                channel(notice)
            except Exception as error:  # noqa: BLE001 - one failed channel doesn't stop the others
                # Only the type of unknown errors is shown: their text may contain a secret address.
                known = isinstance(error, ChannelError)
                refused[name] = str(error) if known else type(error).__name__
        if len(refused) == len(channels):
            raise NotDelivered(", ".join(f"{name}: {reason}" for name, reason in refused.items()))
        for name, reason in refused.items():
            log.warning(
                "%s did not deliver a notice that another channel delivered: %s", name, reason
            )

    return send


@dataclass(frozen=True)
class Links:
    """Addresses and time zone for messages."""

    airflow: str
    runbook: str
    zone: ZoneInfo

    @classmethod
    def of(cls, settings: FlowSettings) -> "Links":
        """Return the links of the settings."""
        airflow = settings.airflow_url.rstrip("/")
        runbook = settings.runbook_url or f"{airflow}{BOARD}/runbook"
        return cls(airflow, runbook, settings.time_zone)

    def run(self, flow: str, dag_run_id: str | None) -> str:
        """Return the address of a run's page, or of its DAG's page."""
        page = f"{self.airflow}/dags/{quote(flow, safe='')}"
        return f"{page}/runs/{quote(dag_run_id, safe='')}" if dag_run_id else page

    def approval(self, flow: str, dag_run_id: str) -> str:
        """Return the address of Airflow's page with the approval requests of a run."""
        return f"{self.run(flow, dag_run_id)}/required_actions"

    def drop(self, number: int) -> str:
        """Return the address of a drop's page on the board, with its report."""
        return f"{self.airflow}{BOARD}/drops/{number}"

    def plan(self, drop: int, plan_id: str) -> str:
        """Return the address of a plan's page on the board."""
        return f"{self.drop(drop)}/plans/{plan_id[:12]}"

    def drops(self, flow: str) -> str:
        """Return the address of a flow's page on the board, which lists its drops."""
        return f"{self.airflow}{BOARD}/flows/{quote(flow, safe='')}"

    def section(self, code: str) -> str:
        """Return the address of a code's section in the runbook."""
        return f"{self.runbook}#{code.lower()}"

    def time(self, at: datetime) -> str:
        """Return a moment in the company's zone, with the zone's name."""
        return f"{at.astimezone(self.zone):%Y-%m-%d %H:%M %Z}"
