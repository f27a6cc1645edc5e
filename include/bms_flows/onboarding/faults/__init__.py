"""Faults of dropped files and of their rows."""
