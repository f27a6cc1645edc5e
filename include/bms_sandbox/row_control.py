"""Control routes that touch single rows: what a user of the business system would do there."""

from dataclasses import asdict, fields, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, HTTPException
from pydantic import TypeAdapter, ValidationError

from bms_sandbox import people
from bms_sandbox.invoices import Invoice
from bms_sandbox.service import Service
from bms_sandbox.store import Key
from bms_sandbox.wire import Row

Resource = Literal["employees", "contacts", "consultants"]
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
    """Return the routes that list, insert, edit and delete employees, contacts, consultants."""
    routes = APIRouter()

    @routes.get("/rows/{resource}")
    async def rows(resource: Resource) -> list[Row]:
        """Return all rows, unseen ones too, with the fields that the service never returns."""
        return service.tables[resource].rows()

    @routes.post("/rows/{resource}")
    async def insert(resource: Resource, given: Changes) -> Row:
        """Insert a demo row with the given fields in the place of its own."""
        table = service.tables[resource]
        number = table.next_number()
        row = _sample(service, resource, number, given.get("id_entity"))
        row |= {"created_on": service.clock.now(), "modified_on": service.clock.now()}
        row |= {table.number: number} | _typed(given, row)
        table.add(row)
        return row

    @routes.patch("/rows/{resource}/{key}")
    async def edit(resource: Resource, key: str, changes: Changes) -> Row:
        """Change fields of a row; modified_on follows unless given."""
        table = service.tables[resource]
        known = table.get(
            _key(resource, key), datetime.max.replace(tzinfo=service.clock.now().tzinfo)
        )
        if known is None:
            raise HTTPException(404, f"no such row in {resource}")
        changed = {"modified_on": service.clock.now()} | _typed(changes, known)
        return table.change(_key(resource, key), changed) or known

    @routes.delete("/rows/{resource}/{key}")
    async def delete(resource: Resource, key: str) -> None:
        """Take a row out for good (a deleted contact that stays is an edit of its flags)."""
        if not service.tables[resource].remove(_key(resource, key)):
            raise HTTPException(404, f"no such row in {resource}")

    return routes


def invoice_routes(service: Service) -> APIRouter:
    """Return the routes that show, insert, edit and delete invoices."""
    routes = APIRouter()
    book = service.invoices

    @routes.get("/invoices")
    async def invoices(id_entity: int, start_date: date, end_date: date) -> list[Row]:
        """Return the invoices dated start_date to end_date, both inclusive, money as text.

        The dialect and the faults don't touch this: it is what a right reader must have seen.
        """
        now = service.clock.now()
        last = min(end_date, book.last_day(now.date()))
        found = book.dated(id_entity, start_date, last)
        return [_shown(service, invoice) for invoice in found if invoice.created_on <= now]

    @routes.post("/invoices")
    async def insert(given: Changes) -> Row:
        """Insert an invoice: a demo one of its invoice_date with the given fields instead."""
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
        """Change stored fields of an invoice, those of its life included."""
        invoice = _found(service, id_entity, id_invoice)
        return _put(service, invoice, _with(invoice, changes))

    @routes.delete("/invoices/{id_entity}/{id_invoice}")
    async def delete(id_entity: int, id_invoice: int) -> None:
        """Take an invoice out for good."""
        book.remove(_found(service, id_entity, id_invoice))

    return routes


def life_routes(service: Service) -> APIRouter:
    """Return the routes by which something happens to an invoice, now."""
    routes = APIRouter()

    @routes.post("/invoices/{id_entity}/{id_invoice}/pay")
    async def pay(id_entity: int, id_invoice: int, amount: Decimal | None = None) -> Row:
        """Pay an invoice: `amount`, or all that is due."""
        invoice = _found(service, id_entity, id_invoice)
        return _put(service, invoice, invoice.paid(service.clock.now(), amount))

    @routes.post("/invoices/{id_entity}/{id_invoice}/send")
    async def send(id_entity: int, id_invoice: int) -> Row:
        """Send an invoice."""
        invoice = _found(service, id_entity, id_invoice)
        return _put(service, invoice, invoice.sent(service.clock.now()))

    @routes.post("/invoices/{id_entity}/{id_invoice}/cancel")
    async def cancel(id_entity: int, id_invoice: int, id_credit: int | None = None) -> Row:
        """Cancel an invoice, by a credit note if there is one."""
        invoice = _found(service, id_entity, id_invoice)
        return _put(service, invoice, invoice.canceled(service.clock.now(), id_credit))

    return routes


def _found(service: Service, id_entity: int, id_invoice: int) -> Invoice:
    invoice = service.invoices.find(id_entity, id_invoice)
    if invoice is None:
        raise HTTPException(404, "no such invoice")
    return invoice


def _put(service: Service, old: Invoice, new: Invoice) -> Row:
    """Put `new` in the place of `old`, whatever day or key it has."""
    service.invoices.remove(old)
    service.invoices.put(new)
    return _shown(service, new)


def _shown(service: Service, invoice: Invoice) -> Row:
    """Return the fields as they stand; decimals as text, JSON numbers would pass through a float."""
    row = invoice.as_of(service.clock.now(), service.dialect.default_language)
    exact = {n: str(v) if isinstance(v, Decimal) else v for n, v in row.items()}
    return {"id_entity": invoice.id_entity} | exact


def _key(resource: str, text: str) -> Key:
    return text if resource == "employees" or not text.isdecimal() else int(text)


def _sample(service: Service, resource: Resource, number: int, id_entity: Any) -> Row:
    seed = service.settings.demo.seed
    match resource:
        case "employees":
            return people.employee(seed, int(id_entity or service.entities[0]), number)
        case "contacts":
            return people.contact(seed, number)
        case "consultants":
            return people.consultant(seed, number)


def _typed(given: dict[str, Any], row: Row) -> Row:
    """Return `given` with dates and instants as such; 422 for a field that the rows don't have."""
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
