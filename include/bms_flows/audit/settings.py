"""Settings of the audit."""

from dataclasses import dataclass

from bms_flows.runtime.settings import Constant, Count, FlowSettings


@dataclass(frozen=True, kw_only=True)
class AuditSettings(FlowSettings):
    """Settings of the audit, in addition to those of all flows."""

    audit_requests: Count = 150
    """Maximum number of requests per audit; days and lists beyond it are `not_checked`."""
    audit_days: Constant[int] = 31
    """Maximum number of invoice days that one audit compares; other days follow in turn."""
    audit_rows: Constant[int] = 20_000
    """Maximum number of invoices that one audit compares, estimated from the warehouse."""
    audit_cycle_days: Count = 366
    """Days in which the audits should compare everything once; a longer projected cycle raises an alarm."""
    audit_sample: Constant[int] = 5
    """Number of details per resource that one audit reads; other details follow in turn."""
