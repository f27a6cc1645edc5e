"""What people ask of the warehouse, as queries; nothing here writes."""

from bms_warehouse.queries.records import fingerprint, run_summary

__all__ = ["fingerprint", "run_summary"]
