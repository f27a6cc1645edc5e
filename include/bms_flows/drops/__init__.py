"""Drops: files that people leave in an inbox, taken once, read exactly, answered in their own form."""
