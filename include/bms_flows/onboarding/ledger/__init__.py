"""The ledger of creates: entries, their states, and their store."""
