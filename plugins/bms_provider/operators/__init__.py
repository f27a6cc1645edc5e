"""Operators of the Business Management Service, one per operation."""

from bms_provider import compat  # noqa: F401 - refuses an older Airflow before another import fails
