"""Retention and erasure of personal data."""
