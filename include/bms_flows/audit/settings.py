"""The settings of the self-audit: how much of the service's time it may take."""

from dataclasses import dataclass

from bms_flows.runtime.settings import FlowSettings


@dataclass(frozen=True, kw_only=True)
class AuditSettings(FlowSettings):
    """What the self-audit may be told, beside what all flows are."""

    audit_requests: int = 150
    """Requests of one audit at most; what they don't reach is not_checked."""
    audit_days: int = 31
    """Days of invoices that one audit compares at most, of one entity: others follow in turn."""
    audit_rows: int = 20_000
    """Invoices that one audit compares at most, by what the warehouse holds; then fewer days."""
    audit_cycle_days: int = 366
    """Days in which the audits must have compared everything once, as projected; more is an alarm."""
    audit_sample: int = 5
    """Details of each kind of record that one audit reads; others follow in turn."""
