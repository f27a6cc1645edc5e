"""Operators of the Business Management Service, one per operation."""
