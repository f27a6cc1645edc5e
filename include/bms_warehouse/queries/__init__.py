"""Read-only queries for the board, the stack and tests."""
