"""Which DAG works on what is dropped; imports nothing, as DAG files are parsed all the time."""

from typing import Final

FLOWS: Final = {
    "employee": "employee_onboarding",
    "contact": "contact_creation",
    "consultant": "consultant_creation",
}
"""The DAG of each resource that can be dropped."""
