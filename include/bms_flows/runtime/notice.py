"""Notices: messages to operators and HR users, without personal data, and their delivery."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self
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
    """Addresses of pages of Airflow and of the board below it, and the time zone for messages."""

    airflow: str
    runbook: str
    zone: ZoneInfo

    @classmethod
    def of(cls, settings: FlowSettings) -> Self:
        """Return the links of the settings."""
        return cls.below(settings.airflow_url.rstrip("/"), settings)

    @classmethod
    def below(cls, airflow: str, settings: FlowSettings) -> Self:
        """Return the links below an address of Airflow."""
        runbook = settings.runbook_url or f"{airflow}{BOARD}/runbook"
        return cls(airflow, runbook, settings.time_zone)

    @property
    def board(self) -> str:
        """The board's address, without a slash at the end."""
        return f"{self.airflow}{BOARD}"

    def run(self, dag: str, dag_run_id: str | None = None) -> str:
        """Return Airflow's page of a run, or of a DAG."""
        page = f"{self.airflow}/dags/{segment(dag)}"
        return f"{page}/runs/{segment(dag_run_id)}" if dag_run_id else page

    def approval(self, dag: str, dag_run_id: str) -> str:
        """Return Airflow's page with the approval requests of a run."""
        return f"{self.run(dag, dag_run_id)}/required_actions"

    def drop(self, number: int) -> str:
        """Return the board's page of a drop, with its report."""
        return f"{self.board}/drops/{number}"

    def plan(self, drop: int, plan_id: str) -> str:
        """Return the board's page of a plan, with its rows."""
        return f"{self.drop(drop)}/plans/{segment(plan_id[:12])}"

    def flow(self, flow: str) -> str:
        """Return the board's page of a flow, which lists its drops."""
        return f"{self.board}/flows/{segment(flow)}"

    def section(self, code: str) -> str:
        """Return the address of a code's section in the runbook."""
        return f"{self.runbook}#{code.lower()}"

    def time(self, at: datetime) -> str:
        """Return a moment in the company's zone, with the zone's name."""
        return f"{at.astimezone(self.zone):%Y-%m-%d %H:%M %Z}"


def segment(name: str) -> str:
    """Return a name quoted as one segment of a path."""
    return quote(name, safe="")
