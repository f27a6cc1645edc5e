"""An operator for each operation of the service."""
