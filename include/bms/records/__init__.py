"""Record types of the service, with its field names (interface, "Resources and their fields")."""

from bms.records.consultants import Consultant, ConsultantItem
from bms.records.contacts import Contact, ContactItem
from bms.records.declaration import DateText, Record, described
from bms.records.employees import CreatedEmployee, Employee, EmployeeItem
from bms.records.invoices import ClientInvoice

__all__ = [
    "ClientInvoice",
    "Consultant",
    "ConsultantItem",
    "Contact",
    "ContactItem",
    "CreatedEmployee",
    "DateText",
    "Employee",
    "EmployeeItem",
    "Record",
    "described",
]
