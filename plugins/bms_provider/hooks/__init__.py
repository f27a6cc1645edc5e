"""The hook: a connection becomes a client."""
