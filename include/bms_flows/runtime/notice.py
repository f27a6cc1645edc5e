"""What people are told, whatever carries it: a title and a few lines, without a person in them."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote
from zoneinfo import ZoneInfo

from bms_flows.runtime.settings import FlowSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Notice:
    """A message: figures, days, codes and links; never a name, a key or a cell."""

    title: str
    lines: tuple[str, ...]

    @property
    def body(self) -> str:
        """The lines as text."""
        return "\n".join(self.lines)

    @property
    def text(self) -> str:
        """Title and lines as text."""
        return f"{self.title}\n{self.body}"


Send = Callable[[Notice], None]
"""Hands a notice to a channel; raises where the channel doesn't take it."""


class ChannelError(RuntimeError):
    """A channel could not deliver a notice; the text names no address and no secret."""


class NotDelivered(RuntimeError):
    """No channel took a notice; it is told the next time."""

    retriable = True


def broadcast(channels: Mapping[str, Send]) -> Send:
    """Return what hands a notice to every channel, and raises `NotDelivered` where none takes it."""

    def send(notice: Notice) -> None:
        refused = {}
        for name, channel in channels.items():
            try:
                channel(notice)
            except Exception as error:  # noqa: BLE001 - whatever one raises, the others get theirs
                # Other errors may quote an address, which can be a secret: show their type alone.
                known = isinstance(error, ChannelError)
                refused[name] = str(error) if known else type(error).__name__
        if len(refused) == len(channels):
            raise NotDelivered(", ".join(f"{name}: {reason}" for name, reason in refused.items()))
        for name, reason in refused.items():
            log.warning("%s did not take a notice that others took: %s", name, reason)

    return send


@dataclass(frozen=True)
class Links:
    """Where messages lead, and whose clock they speak by."""

    airflow: str
    runbook: str
    zone: ZoneInfo

    @classmethod
    def of(cls, settings: FlowSettings, airflow: str = "") -> "Links":
        """Return those of the settings; an address that Airflow itself gives goes first."""
        return cls(
            (airflow or settings.airflow_url).rstrip("/"), settings.runbook_url, settings.time_zone
        )

    def run(self, flow: str, dag_run_id: str | None) -> str:
        """Return the address of a run's page, or of its DAG's."""
        page = f"{self.airflow}/dags/{quote(flow, safe='')}"
        return f"{page}/runs/{quote(dag_run_id, safe='')}" if dag_run_id else page

    def section(self, code: str) -> str:
        """Return the address of a code's section in the runbook."""
        return f"{self.runbook}#{code}"

    def time(self, at: datetime) -> str:
        """Return a moment as people of the company write it, with the zone."""
        return f"{at.astimezone(self.zone):%Y-%m-%d %H:%M %Z}"
