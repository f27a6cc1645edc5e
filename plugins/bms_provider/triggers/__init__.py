"""Triggers, which announce events and never create records."""
