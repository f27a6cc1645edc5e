"""The described service as a FastAPI application."""

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from bms_sandbox.errors import ServiceError, error_reply
from bms_sandbox.operations import invoices, token
from bms_sandbox.operations.shapes import response
from bms_sandbox.service import Service


def service_app(service: Service) -> FastAPI:
    """Return the application with the operations of the interface on `service`."""
    app = FastAPI(title="BMS", docs_url=None, redoc_url=None, redirect_slashes=False)
    for module in (token, invoices):
        app.include_router(module.router(service))

    @app.get("/_sandbox/health", include_in_schema=False)
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    async def refuse(_: Request, error: Exception) -> Response:
        if isinstance(error, RequestValidationError):
            error = ServiceError(422, "invalid_request", "the request isn't valid")
        elif isinstance(error, HTTPException):
            error = ServiceError(error.status_code, "http_error", str(error.detail))
        if not isinstance(error, ServiceError):
            raise error
        return response(error_reply(error, service.dialect))

    for kind in (ServiceError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, refuse)
    return app
