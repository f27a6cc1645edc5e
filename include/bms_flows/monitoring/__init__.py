"""Freshness targets, alarms and their channels, and health."""
