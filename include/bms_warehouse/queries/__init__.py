"""Read-only queries for the board, the stack and tests."""

from bms_warehouse.queries.records import fingerprint, run_summary

__all__ = ["fingerprint", "run_summary"]
