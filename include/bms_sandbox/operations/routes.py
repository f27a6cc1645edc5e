"""Routes of employees, contacts and consultants: list, read and create."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel

from bms_sandbox.errors import Reply, ServiceError, json_reply
from bms_sandbox.operations import BY_NAME
from bms_sandbox.operations.lists import PAGING, ResourceList
from bms_sandbox.operations.shapes import REQUIRED, Models, response
from bms_sandbox.row_encoder import Row
from bms_sandbox.service import Service


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource with a list, a detail and a create."""

    noun: str
    models: Models
    key: str
    """Name of the path parameter."""
    key_type: Any
    listing: ResourceList
    read_text: str
    """What the detail does, in English and French."""
    create_text: str
    new: Callable[[Service, dict[str, Any]], dict[str, Any]]
    """Returns the fields of a row that the body lacks or gives in another form."""
    created: type[BaseModel] | None = None
    """Response of a create; None: the id in the form of the dialect."""

    @property
    def table(self) -> str:
        """Name of the table."""
        return f"{self.noun}s"

    def router(self, service: Service) -> APIRouter:
        """Return the routes of the three operations."""
        routes, models, listing = APIRouter(), self.models, self.listing
        table, fields = service.tables[self.table], models.detail_fields

        async def list_rows(**given: Any) -> Response:
            return response(listing.reply(service, self.table, models.item_fields, given))

        async def read(**given: Any) -> Response:
            value = given[self.key]
            row = table.get(value if isinstance(value, int) else str(value), service.clock.now())
            if row is None:
                raise ServiceError(404, f"unknown_{self.noun}", f"no such {self.noun}")
            return response(json_reply(service.encoder.row(row, fields)))

        async def create(body: BaseModel) -> Response:
            given = body.model_dump()
            need_names(service, given)
            made = self.new(service, given)  # takes members of the body that no row has
            row = dict.fromkeys(fields) | given | made
            service.commit(self.table, row, f"create_{self.noun}")
            return response(self._created(service, row))

        page: Any = models.page if listing.paged else list[models.item]  # type: ignore[name-defined]  # a type created at run time
        asked = {**(PAGING if listing.paged else {}), **listing.parameters}
        key, body = (self.key_type, REQUIRED), (models.creation, REQUIRED)
        served: tuple[tuple[str, str, Any, Mapping[str, Any], Any], ...] = (
            (f"list_{self.table}", listing.text, list_rows, asked, page),
            (f"read_{self.noun}", self.read_text, read, {self.key: key}, models.detail),
            (f"create_{self.noun}", self.create_text, create, {"body": body}, self.created),
        )
        for name, text, endpoint, parameters, returns in served:
            # FastAPI reads the parameters from the signature.
            endpoint.__signature__ = Signature(
                [
                    Parameter(each, Parameter.KEYWORD_ONLY, annotation=type_, default=default)
                    for each, (type_, default) in parameters.items()
                ]
            )
            routes.add_api_route(
                BY_NAME[name].path,
                endpoint,
                methods=[BY_NAME[name].method],
                operation_id=name,
                name=name,
                description=text,
                response_model=returns,
            )
        return routes

    def _created(self, service: Service, row: Row) -> Reply:
        dialect = service.dialect
        if self.created is not None:
            content = service.encoder.row(row, tuple(self.created.model_fields))
            return json_reply(content, dialect.create_status)
        if dialect.created_id == "empty":
            return Reply(dialect.create_status, (), b"")
        shapes = {
            "number": row["id"],
            "string": str(row["id"]),
            "object": {"id": row["id"]},
            "named_object": {self.key: row["id"]},
        }
        return json_reply(service.encoder.encode(shapes[dialect.created_id]), dialect.create_status)


def stamps(service: Service) -> dict[str, Any]:
    """Return the times and users of a new row; the user is 1: our assumption."""
    now = service.clock.now()
    return {"created_on": now, "modified_on": now, "created_by": 1, "modified_by": 1}


def need_names(service: Service, given: Mapping[str, Any]) -> None:
    """Raise 422 for a creation without names if the dialect requires them."""
    if service.dialect.required_fields == "none":
        return
    missing = [name for name in ("first_name", "last_name") if not (given[name] or "").strip()]
    if missing:
        details = tuple({"field": name, "message": "is required"} for name in missing)
        raise ServiceError(422, "invalid_request", f"missing: {', '.join(missing)}", details)
