"""How many tasks Airflow makes of one, at most."""

from typing import Final

MAPPED: Final = 1024
"""Tasks that Airflow maps at most (`[core] max_map_length`); beyond, the task that says them fails."""
