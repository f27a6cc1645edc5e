"""Sending of creates, and settlement of ambiguous outcomes."""
