"""Client invoices: which days to read, reading them, loading them, saying what came of it."""
