"""Hook of the Business Management Service."""
