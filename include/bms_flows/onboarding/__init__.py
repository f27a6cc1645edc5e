"""Onboarding: people from dropped files become employees, contacts and consultants of the service."""
