"""PostgreSQL warehouse: tables, migrations, loads and queries."""
