"""Coverage-guided fuzzing of the readers of responses and dropped files.

    pip install --target /tmp/fuzz atheris
    PYTHONPATH=/tmp/fuzz python -m proofs.fuzz answers|drops [-max_total_time=600]

A response or a file may be read, or refused by one of our own errors. Any other error, a lost row,
and an input that takes longer than ten seconds end the run with that input.
"""

import sys
from typing import Any

import atheris

with atheris.instrument_imports(include=["bms", "bms_flows", "msgspec"]):
    from bms.auth import read_token
    from bms.created import read_created_employee, read_created_id
    from bms.decoding import RecordReader
    from bms.endpoints import BY_NAME
    from bms.errors import BmsError
    from bms.records import ClientInvoice, ContactItem, EmployeeItem
    from bms_flows.invoices.decode import ResponseReader
    from bms_flows.onboarding.inbox.discovery import complete
    from bms_flows.onboarding.reading.reader import read
    from bms_flows.onboarding.reading.sheet import Limits
    from bms_flows.onboarding.reporting.rejects import reject_files
    from bms_flows.onboarding.resources.contact import contact
    from bms_flows.onboarding.resources.employee import EMPLOYEE

LIMITS = Limits(bytes=100_000, unpacked_bytes=1_000_000, rows=200)
READERS: tuple[Any, ...] = (
    RecordReader(BY_NAME["list_client_invoices"], ClientInvoice).rows,
    RecordReader(BY_NAME["list_client_invoices"], ClientInvoice).detail,
    RecordReader(BY_NAME["list_employees"], EmployeeItem).rows,
    lambda body: RecordReader(BY_NAME["list_contacts"], ContactItem).page(body, number=1, size=9),
    lambda body: read_created_id(BY_NAME["create_contact"], "id_contact", body),
    lambda body: read_created_employee(BY_NAME["create_employee"], body),
    lambda body: read_token(body, requested_at=0, served_at=None, seconds_per_unit=1),
    ResponseReader().read,
)


def answers(data: bytes) -> None:
    """Read `data` as every answer there is."""
    for reader in READERS:
        try:
            reader(data)
        except BmsError:
            continue


def drops(data: bytes) -> None:
    """Read `data` as a dropped file, refuse every row of it, and read the refusal."""
    for name, resource in (("a.csv", EMPLOYEE), ("a.xlsx", contact())):
        complete(data, name)
        sheet = read(data, name, resource, limits=LIMITS)
        faults = {row.line: sheet.faults_of(row) for row in sheet.rows}
        for ending, refused in reject_files(data, sheet.form, faults).items():
            again = read(refused, f"r{ending}", resource)
            if sheet.form.kind and len(again.rows) != len(sheet.rows):
                raise AssertionError(f"{len(sheet.rows)} rows refused, {len(again.rows)} come back")


if __name__ == "__main__":
    atheris.Setup([sys.argv[0], "-timeout=10", *sys.argv[2:]], globals()[sys.argv[1]])
    atheris.Fuzz()
