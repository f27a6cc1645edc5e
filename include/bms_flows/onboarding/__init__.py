"""Onboarding: rows of dropped files become employees, contacts and consultants of the service."""
