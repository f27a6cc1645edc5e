"""The self-audit: the service against itself, and the warehouse against the service."""
