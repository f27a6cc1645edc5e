"""`python -m bms_warehouse migrate`: bring the warehouse's schema up to date."""

import argparse
import os
import sys

from bms_warehouse import database
from bms_warehouse.errors import WarehouseError

URL_VARIABLE = "BMS_WAREHOUSE_URL"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when done, 1 when the database can't be reached, 2 on wrong use."""
    parser = argparse.ArgumentParser(prog="python -m bms_warehouse", description=__doc__)
    parser.add_argument("command", choices=["migrate", "status"])
    parser.add_argument(
        "--url",
        default=os.environ.get(URL_VARIABLE),
        help=f"libpq URI of the warehouse, postgresql://… (default: ${URL_VARIABLE})",
    )
    options = parser.parse_args(arguments)
    if not options.url:
        parser.error(f"name the warehouse: --url postgresql://… or {URL_VARIABLE}")
    engine = database.connect(options.url)
    try:
        if options.command == "migrate":
            print(f"warehouse at {database.migrate(engine)}")  # noqa: T201 - a command's answer
            return 0
        have, need = database.current(engine), database.head()
    except WarehouseError as error:
        print(f"the warehouse does not answer: {error}", file=sys.stderr)  # noqa: T201
        return 1
    finally:
        engine.dispose()
    print(f"warehouse at {have or 'nothing yet'}, this code needs {need}")  # noqa: T201
    return 0 if have == need else 1


if __name__ == "__main__":
    sys.exit(main())
