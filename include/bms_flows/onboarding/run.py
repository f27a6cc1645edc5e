"""One DAG run of an onboarding: its data, its connection to the service, and its recorded steps."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Protocol, TypeVar

from upath import UPath

from bms.client import Client
from bms.counters import Counters
from bms.settings import ClientSettings
from bms_flows.onboarding import dispatch
from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.inbox.claim import Drop
from bms_flows.onboarding.planning import rules as rules_file
from bms_flows.onboarding.planning.rules import Rules
from bms_flows.onboarding.reading.sheet import UNDECLARED
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime import service_identity, step_log
from bms_flows.runtime.context import FlowContext, recorded_step

T = TypeVar("T")


class Connection(Protocol):
    """The connection to the service, such as Airflow's hook."""

    @property
    def settings(self) -> ClientSettings:
        """The settings of its clients."""

    @property
    def entities(self) -> Collection[int]:
        """The entities to match employees in."""

    def client(self, counters: Counters | None = None, **changes: Any) -> Client:
        """Return a client; `changes` replace settings."""


@dataclass(frozen=True)
class OnboardingRun:
    """One DAG run of an onboarding flow."""

    flow: FlowContext
    resource: str
    dag_id: str
    dag_run_id: str
    params: Mapping[str, Any]
    user: str | None
    """The user who triggered the run."""
    connect: Callable[[], Connection]
    emit: Callable[[Counters, str], None]
    """Sends the counters of an operation to the metrics."""

    def step(self, name: str) -> step_log.Step:
        """Return the step `name` of the run."""
        return step_log.Step(flow=self.dag_id, dag_run_id=self.dag_run_id, name=name)

    def record(self, name: str, work: Callable[[OnboardingContext], Awaitable[T]]) -> T:
        """Do `work` and record it, with the service's response times, as step `name`."""
        counters = Counters()
        with recorded_step(self.flow, self.step(name), counters) as step_run_id:
            done = self.work(counters, work)
            with self.flow.warehouse.begin() as connection:
                step_log.finish(connection, step_run_id, state="complete", service=counters)
        return done

    def work(self, counters: Counters, work: Callable[[OnboardingContext], Awaitable[T]]) -> T:
        """Do `work` with own clients, in the only event loop of the task.

        Raises `ServiceMismatch` if the warehouse has data of another service.
        """
        connection, settings = self.connect(), OnboardingSettings.from_environment()
        client = connection.settings
        identity = service_identity.ServiceIdentity.of(client.base_url, client.application_id)
        service_identity.require(self.flow.warehouse, identity)
        reader, writer = connection.client(counters), connection.client(counters, attempts=1)

        async def with_clients() -> T:
            async with reader, writer:
                remote = REMOTES[self.resource](reader, writer, settings, connection.entities)
                warehouse, rules = self.flow.warehouse, rules_of(self.resource)
                return await work(OnboardingContext(warehouse, remote, rules, settings))

        try:
            return asyncio.run(with_clients())
        finally:
            self.emit(counters, f"create_{self.resource}")

    def today(self) -> date:
        """Return the current date in the time zone of the settings."""
        return datetime.now(UTC).astimezone(self.flow.settings.time_zone).date()

    def report_folder(self, drop: Drop) -> UPath:
        """Return the folder of a drop's report."""
        return self.flow.data_root / "reports" / dispatch.folder_name(self.resource) / drop.folder


def rules_of(resource: str) -> Rules:
    """Return the validation rules of a resource; the version includes the declared file format."""
    rules, declared = rules_file.read(REMOTES[resource].resource), dispatch.declared(resource)
    if declared == UNDECLARED:
        return rules
    return replace(rules, version=f"{rules.version}-{declared.date_order}-{declared.decimal_mark}")
