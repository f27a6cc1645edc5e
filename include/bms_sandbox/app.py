"""FastAPI application of the described service, wrapped in the middleware."""

from http import HTTPStatus
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from bms_sandbox.control import control_app
from bms_sandbox.errors import ServiceError, error_reply
from bms_sandbox.middleware import ServiceMiddleware
from bms_sandbox.operations import (
    OPERATIONS,
    invoices,
    methods_of,
    token,
)
from bms_sandbox.operations.consultants import CONSULTANT
from bms_sandbox.operations.contacts import CONTACT
from bms_sandbox.operations.employees import EMPLOYEE
from bms_sandbox.operations.shapes import response
from bms_sandbox.service import Service

# The middleware authorises requests; this only documents it, for the token operation as well.
BEARER = HTTPBearer(bearerFormat="JWT", scheme_name="bearer", auto_error=False)


class ServiceApp(FastAPI):
    """FastAPI whose OpenAPI document names the scope of each operation."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, built at the first request."""
        published = super().openapi()
        for operation in OPERATIONS:
            scopes = [operation.scope] if operation.scope else []
            method = published["paths"][operation.path][operation.method.lower()]
            method["security"] = [{"bearer": scopes}]
        return published


def sandbox_app(service: Service) -> ServiceMiddleware:
    """Return the middleware with the service and the control application behind it."""
    return ServiceMiddleware(service, service_app(service), control_app(service))


def service_app(service: Service) -> FastAPI:
    """Return the application with the operations of the interface."""
    app = ServiceApp(
        title="Business Management Service",
        description="HR, CRM and invoices, as the interface describes them.",
        version="1",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for served in (token, EMPLOYEE, invoices, CONTACT, CONSULTANT):
        app.include_router(
            served.router(service),
            dependencies=[Depends(BEARER)],
            responses={"4XX": {"description": "Refused; the dialect decides status and body."}},
        )

    async def refuse(request: Request, error: Exception) -> Response:
        refusal = _as_service_error(error)
        if refusal.status == HTTPStatus.METHOD_NOT_ALLOWED:
            # FastAPI's header names the methods of one route at a path, not of all routes.
            refusal.headers["allow"] = ", ".join(methods_of(request.scope["path"]))
        return response(error_reply(refusal, service.dialect))

    for kind in (ServiceError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, refuse)
    return app


def _as_service_error(error: Exception) -> ServiceError:
    """Return an exception as an error of the service; re-raise unexpected exceptions."""
    match error:
        case ServiceError():
            return error
        case RequestValidationError():
            details = tuple(
                {"field": ".".join(map(str, e["loc"][1:])), "message": str(e["msg"])}
                for e in error.errors()
            )
            return ServiceError(422, "invalid_request", "the request isn't valid", details)
        case HTTPException():
            return ServiceError(error.status_code, "refused", str(error.detail))
    raise error
