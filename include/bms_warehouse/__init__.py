"""The PostgreSQL warehouse: tables, migrations, loads, queries."""
