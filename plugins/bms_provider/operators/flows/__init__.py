"""Operators that run the steps of the flows."""
