"""Inboxes: how dropped files are found, claimed and archived."""
