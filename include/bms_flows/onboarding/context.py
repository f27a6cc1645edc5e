"""Composition of an onboarding: warehouse, service, rules and settings of one resource."""

from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Engine

from bms_flows.onboarding.ledger.store import PostgresLedger
from bms_flows.onboarding.planning.rules import Rules
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.description import Resource
from bms_flows.onboarding.resources.match_rules import Identity
from bms_flows.onboarding.resources.remote import Remote
from bms_flows.onboarding.sending.apply import Applier
from bms_flows.onboarding.sending.drop_lists import DropLists
from bms_flows.onboarding.settings import OnboardingSettings


@dataclass(frozen=True)
class OnboardingContext:
    """The parts that the steps of an onboarding work with."""

    warehouse: Engine
    remote: Remote
    rules: Rules
    settings: OnboardingSettings

    @property
    def resource(self) -> Resource:
        """The resource to create."""
        return self.remote.resource

    @property
    def identity(self) -> Identity:
        """The keys and match rules of the resource."""
        return self.remote.identity

    @cached_property
    def ledger(self) -> PostgresLedger:
        """The ledger of the resource."""
        return PostgresLedger(self.warehouse, self.resource.name)

    def snapshots(self, drop_id: int, sheet: Sheet) -> DropLists:
        """Return the snapshots of a drop."""
        return DropLists(self.warehouse, self.ledger, self.remote, self.settings, drop_id, sheet)

    def applier(self) -> Applier:
        """Return an applier with a new owner id."""
        return Applier(self.ledger, self.remote, self.settings)
