"""The extra `flows` of the distribution: the packages of flows, warehouse, board and the command `bms`."""

from functools import cache
from importlib.util import find_spec

MODULES = (
    *("alembic", "holidays", "idna", "openpyxl", "phonenumbers", "psycopg"),
    *("rich", "sqlalchemy", "typer"),
)
"""What the extra's packages provide; its Airflow providers only add connection types."""


class MissingExtra(ImportError):
    """A base installation has the hook, the operators of the service's operations, and triggers only."""

    retriable = False

    def __init__(self) -> None:
        super().__init__(
            "The flows, their operators, the board and the command bms need the extra flows. Run"
            " pip install 'bms-airflow[flows]' in every environment that runs a component of Airflow,"
            " then restart the components."
        )


@cache
def require() -> None:
    """Raise `MissingExtra` in a base installation."""
    if not all(map(find_spec, MODULES)):
        raise MissingExtra
