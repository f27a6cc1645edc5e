"""What the steps of a creation work with."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Engine

from bms_flows.onboarding.ledger.store import PostgresLedger
from bms_flows.onboarding.planning.rules import Rules
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.remote import Remote
from bms_flows.onboarding.sending.apply import Applier
from bms_flows.onboarding.settings import OnboardingSettings


@dataclass(frozen=True)
class OnboardingContext:
    """The warehouse, the service's side of one resource, its rules, the settings."""

    warehouse: Engine
    remote: Remote
    rules: Rules
    settings: OnboardingSettings
    entities: Collection[int] = ()
    """The entities of the connection: employees are compared across all of them."""

    @property
    def resource(self) -> Resource:
        """What is created."""
        return self.remote.resource

    @property
    def identity(self) -> Identity:
        """How its rows are told apart."""
        return self.remote.identity

    @cached_property
    def ledger(self) -> PostgresLedger:
        """The ledger of the resource."""
        return PostgresLedger(self.warehouse, self.resource.name)

    def applier(self) -> Applier:
        """Return a worker of its own owner."""
        return Applier(self.ledger, self.remote, self.settings)
