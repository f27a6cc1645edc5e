"""Audits, which compare the warehouse with the service."""
