"""Process that calls one operation twice and prints its errors and memory use.

python -m tests.bms.repeated_call URL OPERATION
"""

import asyncio
import json
import sys
from datetime import date
from pathlib import Path

from bms.client import Client
from bms.errors import BmsError
from bms.settings import ClientSettings
from tests.bms.fake_services import service_settings

DAY = date(2026, 3, 31)
CALLS = {
    "list_client_invoices": lambda client: client.list_client_invoices(
        id_entity=1, start_date=DAY, end_date=DAY
    ),
    "list_contacts": lambda client: client.list_contacts(filter="ALL"),
    "list_employees": lambda client: client.list_employees(id_entity=1),
    "create_contact": lambda client: client.create_contact({"last_name": "Lefèvre"}),
}


def most_memory() -> int:
    """Return the peak memory of this process in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


async def call(url: str, operation: str) -> dict[str, object]:
    """Hold the error of the first call during the second, as a retry does."""
    errors: list[BmsError] = []
    async with Client(ClientSettings(**service_settings(url), timeout=120.0, attempts=3)) as client:
        await client.access()
        before = most_memory()
        for _ in range(2):
            try:
                await CALLS[operation](client)
            except BmsError as error:
                errors.append(error)
        most = most_memory()
    return {
        "kinds": [type(error).__name__ for error in errors],
        "texts": [str(error) for error in errors],
        "tries": [error.tries for error in errors],
        "held": most - before,
        "most": most,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(call(*sys.argv[1:]))))
