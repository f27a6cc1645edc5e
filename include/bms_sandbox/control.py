"""Control API under /_sandbox: ground truth, faults, dialect, clock and rows. No login, no faults."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Body, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from bms_sandbox.demo_invoices import PER_DAY_MAX
from bms_sandbox.demo_records import LISTS
from bms_sandbox.dialect import InvalidDialectError
from bms_sandbox.faults import Fault, InvalidFaultError
from bms_sandbox.row_control import invoice_routes, row_routes
from bms_sandbox.service import Service


class Population(BaseModel):
    """Demo data that replaces all rows; omitted values are those of the start.

    Further fields are numbers of rows by resource of `demo_records.LISTS`.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[int, Field(ge=0)]]

    seed: int | None = None
    entities: tuple[int, ...] | None = None
    per_day: int | None = Field(None, ge=0, le=PER_DAY_MAX, alias="invoices_per_day")
    flat: bool | None = None
    month_end: bool | None = None
    employees: Annotated[int, Field(ge=0, lt=100_000)] | None = None


def control_app(service: Service) -> FastAPI:
    """Return the application behind /_sandbox/."""
    app = FastAPI(title="Sandbox control", openapi_url="/_sandbox/openapi.json", docs_url=None)
    for routes in (_truth_routes, _behaviour_routes, _state_routes, row_routes, invoice_routes):
        app.include_router(routes(service), prefix="/_sandbox")

    async def refuse(_: Request, error: Exception) -> Response:
        return JSONResponse({"detail": str(error)}, 422)

    for kind in (InvalidDialectError, InvalidFaultError):
        app.add_exception_handler(kind, refuse)
    return app


def _truth_routes(service: Service) -> APIRouter:
    routes = APIRouter()

    @routes.get("/health")
    async def health() -> dict[str, str]:
        """Return that the service is up."""
        return {"status": "ok"}

    @routes.get("/truth")
    async def truth() -> dict[str, Any]:
        """Return counts of requests, created rows and fired faults."""
        return service.ground_truth.as_json() | {
            "faults": service.faults.fired,
            "tokens": {"issued": service.tokens.issued, "live": service.tokens.live()},
            "rows": {name: len(table) for name, table in service.tables.items()},
            "behind_gateway": len(service.behind_gateway),
            "now": service.clock.now(),
        }

    @routes.post("/truth/reset")
    async def reset_counts() -> None:
        """Reset all counts; rows, faults and dialect stay."""
        service.ground_truth.reset_counts()
        service.faults.fired.clear()
        service.tokens.issued = 0

    return routes


def _behaviour_routes(service: Service) -> APIRouter:
    routes = APIRouter()

    @routes.get("/dialect")
    async def dialect() -> dict[str, Any]:
        """Return the value of every dialect option."""
        return service.dialect.as_json()

    @routes.patch("/dialect")
    async def set_dialect(readings: Annotated[dict[str, Any], Body()]) -> dict[str, Any]:
        """Change some dialect options; the others stay."""
        service.set_dialect(service.dialect.changed(readings))
        return service.dialect.as_json()

    @routes.get("/faults")
    async def faults() -> list[dict[str, Any]]:
        """Return the active faults and how often each fired."""
        return service.faults.as_json()

    @routes.post("/faults")
    async def add_fault(fault: Annotated[dict[str, Any], Body()]) -> list[dict[str, Any]]:
        """Add a fault."""
        service.faults.add(Fault.from_json(fault))
        return service.faults.as_json()

    @routes.put("/faults")
    async def replace_faults(plan: Annotated[list[dict[str, Any]], Body()]) -> list[dict[str, Any]]:
        """Replace all faults; an empty list removes them."""
        service.faults.replace([Fault.from_json(fault) for fault in plan])
        return service.faults.as_json()

    @routes.put("/latency")
    async def latency(seconds: Annotated[float, Body(embed=True, ge=0)]) -> None:
        """Set the delay of every request."""
        service.latency = seconds

    @routes.put("/connections")
    async def delay_connections(seconds: Annotated[float, Body(embed=True, ge=0, le=600)]) -> None:
        """Delay new TCP connections by the given seconds; open connections continue."""
        if service.delay_connections is None:
            raise HTTPException(
                422, "connections can't be delayed: the sandbox is not served by its own server"
            )
        service.delay_connections(seconds)

    return routes


def _state_routes(service: Service) -> APIRouter:
    routes = APIRouter()

    @routes.post("/reset")
    async def reset() -> None:
        """Restore the state of the start."""
        service.reset()

    @routes.post("/clock")
    async def move_clock(
        now: Annotated[datetime | None, Body()] = None,
        advance: Annotated[float, Body()] = 0.0,
        frozen: Annotated[bool | None, Body()] = None,
    ) -> dict[str, Any]:
        """Set the clock, advance it by seconds, freeze or release it."""
        service.clock.set(now or service.clock.now(), frozen=frozen)
        service.clock.advance(advance)
        return {"now": service.clock.now(), "frozen": service.clock.frozen}

    @routes.post("/tokens/revoke")
    async def revoke() -> dict[str, int]:
        """Revoke all tokens."""
        return {"revoked": service.tokens.revoke_all()}

    @routes.post("/fill")
    async def fill(wanted: Population) -> dict[str, Any]:
        """Replace all rows by demo rows of the given volume."""
        start, lists = service.settings, wanted.__pydantic_extra__
        if unknown := lists.keys() - LISTS.keys():
            raise HTTPException(422, f"no demo rows for: {', '.join(sorted(unknown))}")
        given = wanted.model_dump(exclude=set(lists), exclude_none=True)
        employees = given.pop("employees", start.employees)
        service.fill(replace(start.demo, **given), employees, {**start.lists, **lists})
        return {name: len(table) for name, table in service.tables.items()}

    return routes
