"""Airflow provider of the Business Management Service; this module imports nothing to keep discovery fast."""
