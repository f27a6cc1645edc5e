"""Control routes for single rows: insert, edit and delete as a user of the service would."""

from dataclasses import asdict, fields, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException
from pydantic import AfterValidator, TypeAdapter, ValidationError

from bms_sandbox.demo_records import LISTS, employee
from bms_sandbox.invoices import FAR, Invoice
from bms_sandbox.row_encoder import Row
from bms_sandbox.service import Service
from bms_sandbox.store import Key


def _stored(resource: str) -> str:
    if resource not in ("employees", *LISTS):
        raise ValueError(f"choose from employees, {', '.join(LISTS)}")
    return resource


Resource = Annotated[str, AfterValidator(_stored)]
Changes = Annotated[dict[str, Any], Body()]

DAYS = (
    "start_date",
    "departure_date",
    "departure_estimated_date",
    "end_date_trial_first_period",
    "end_date_trial_second_period",
    "resident_permit_expiration_date",
)
INVOICE = TypeAdapter(Invoice)


def row_routes(service: Service) -> APIRouter:
    """Return the routes that list, insert, edit and delete employees and rows of other lists."""
    routes = APIRouter()

    @routes.get("/rows/{resource}")
    async def rows(resource: Resource) -> list[Row]:
        """Return all stored rows with all fields, including those that the service does not return yet."""
        return service.tables[resource].rows()

    @routes.post("/rows/{resource}")
    async def insert(resource: Resource, given: Changes) -> Row:
        """Insert a demo row with the given fields."""
        table = service.tables[resource]
        number = table.next_number()
        row = _sample(service, resource, number, given.get("id_entity"))
        now = service.clock.now()
        row = row | stamps(row, now, "created_on", "modified_on")
        row = row | {table.number: number} | _typed(given, row)
        table.add(row, made_at=now)
        return row

    @routes.patch("/rows/{resource}/{key}")
    async def edit(resource: Resource, key: str, changes: Changes) -> Row:
        """Change fields of a row; set modified_on to now unless given."""
        table = service.tables[resource]
        known = table.get(_key(resource, key), FAR)
        if known is None:
            raise HTTPException(404, f"no such row in {resource}")
        changed = stamps(known, service.clock.now(), "modified_on") | _typed(changes, known)
        return table.change(_key(resource, key), changed) or known

    @routes.delete("/rows/{resource}/{key}")
    async def delete(resource: Resource, key: str) -> None:
        """Remove a row; to delete a contact as the service does, edit its flags instead."""
        if not service.tables[resource].remove(_key(resource, key)):
            raise HTTPException(404, f"no such row in {resource}")

    return routes


def stamps(row: Row, at: datetime, *names: str) -> Row:
    """Return `at` for those of `names` that are fields of the row."""
    return {name: at for name in names if name in row}


def invoice_routes(service: Service) -> APIRouter:
    """Return the routes that show, insert, edit, delete, pay, send and cancel invoices."""
    routes = APIRouter()
    book = service.invoices

    @routes.get("/invoices")
    async def invoices(id_entity: int, start_date: date, end_date: date) -> list[Row]:
        """Return the invoices dated start_date to end_date, both inclusive, money as text.

        Dialect and faults do not apply: a correct client has read exactly these values.
        """
        now = service.clock.now()
        last = min(end_date, book.last_day(now.date()))
        found = book.dated(id_entity, start_date, last)
        return [_shown(service, invoice) for invoice in found if invoice.created_on <= now]

    @routes.post("/invoices")
    async def insert(given: Changes) -> Row:
        """Insert a demo invoice of the given invoice_date with the given fields."""
        now = service.clock.now()
        day = date.fromisoformat(given.get("invoice_date", str(now.date())))
        id_entity = int(given.get("id_entity", service.entities[0]))
        sample = book.source.sample(id_entity, day)
        taken = [row.id_invoice for row in book.day(id_entity, day)]
        number = max([sample.id_invoice - 1, *taken]) + 1
        invoice = _with(replace(sample, id_invoice=number, created_on=now), given)
        book.put(invoice)
        return _shown(service, invoice)

    @routes.patch("/invoices/{id_entity}/{id_invoice}")
    async def edit(id_entity: int, id_invoice: int, changes: Changes) -> Row:
        """Change stored fields of an invoice, including the times of its events."""
        invoice = _found(service, id_entity, id_invoice)
        return _put(service, invoice, _with(invoice, changes))

    @routes.delete("/invoices/{id_entity}/{id_invoice}")
    async def delete(id_entity: int, id_invoice: int) -> None:
        """Remove an invoice."""
        book.remove(_found(service, id_entity, id_invoice))

    @routes.post("/invoices/{id_entity}/{id_invoice}/pay")
    async def pay(id_entity: int, id_invoice: int, amount: Decimal | None = None) -> Row:
        """Pay `amount` of an invoice, or the amount due."""
        invoice = _found(service, id_entity, id_invoice)
        return _put(service, invoice, invoice.paid(service.clock.now(), amount))

    @routes.post("/invoices/{id_entity}/{id_invoice}/send")
    async def send(id_entity: int, id_invoice: int) -> Row:
        """Send an invoice."""
        invoice = _found(service, id_entity, id_invoice)
        return _put(service, invoice, invoice.sent(service.clock.now()))

    @routes.post("/invoices/{id_entity}/{id_invoice}/cancel")
    async def cancel(id_entity: int, id_invoice: int, id_credit: int | None = None) -> Row:
        """Cancel an invoice, with the id of a credit note if given."""
        invoice = _found(service, id_entity, id_invoice)
        return _put(service, invoice, invoice.canceled(service.clock.now(), id_credit))

    return routes


def _found(service: Service, id_entity: int, id_invoice: int) -> Invoice:
    invoice = service.invoices.find(id_entity, id_invoice)
    if invoice is None:
        raise HTTPException(404, "no such invoice")
    return invoice


def _put(service: Service, old: Invoice, new: Invoice) -> Row:
    """Replace `old` with `new`, which may have another day or key."""
    service.invoices.remove(old)
    service.invoices.put(new)
    return _shown(service, new)


def _shown(service: Service, invoice: Invoice) -> Row:
    """Return the current fields, decimals as text because JSON numbers become floats."""
    row = invoice.as_of(service.clock.now(), service.dialect.default_language)
    exact = {n: str(v) if isinstance(v, Decimal) else v for n, v in row.items()}
    return {"id_entity": invoice.id_entity} | exact


def _key(resource: str, text: str) -> Key:
    return text if resource == "employees" or not text.isdecimal() else int(text)


def _sample(service: Service, resource: Resource, number: int, id_entity: Any) -> Row:
    seed = service.settings.demo.seed
    if resource == "employees":
        return employee(seed, int(id_entity or service.entities[0]), number)
    return LISTS[resource].row(seed, number)


def _typed(given: dict[str, Any], row: Row) -> Row:
    """Return `given` with dates and times parsed; raise 422 for an unknown field."""
    unknown = sorted(set(given) - set(row))
    if unknown:
        raise HTTPException(422, f"no such fields: {', '.join(unknown)}")
    typed = dict(given)
    for name, value in given.items():
        if isinstance(value, str) and name in DAYS:
            typed[name] = date.fromisoformat(value)
        elif isinstance(value, str) and name.endswith("_on"):
            typed[name] = datetime.fromisoformat(value)
    return typed


def _with(invoice: Invoice, changes: dict[str, Any]) -> Invoice:
    unknown = sorted(set(changes) - {f.name for f in fields(Invoice)})
    if unknown:
        raise HTTPException(422, f"not stored fields of an invoice: {', '.join(unknown)}")
    try:
        return INVOICE.validate_python(asdict(invoice) | changes)
    except ValidationError as error:
        raise HTTPException(422, error.errors(include_url=False, include_input=False)) from None
