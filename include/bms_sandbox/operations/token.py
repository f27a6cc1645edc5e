"""Operation POST /v1/token: a new access token from client credentials."""

from fastapi import APIRouter, Response

from bms_sandbox.errors import json_reply
from bms_sandbox.operations.shapes import Body, Shape, response
from bms_sandbox.service import Service

UNITS_PER_SECOND = {"seconds": 1, "milliseconds": 1000, "minutes": 1 / 60}


class TokenRequest(Body):
    """Body of the token request; all three fields are required."""

    client_id: str
    application_id: str
    secret: str


class TokenResponse(Shape):
    """The new token, its lifetime in the dialect's unit, and the granted scopes."""

    access_token: str
    token_type: str
    expires_in: int
    scope: list[str]


def router(service: Service) -> APIRouter:
    """Return the route of the operation."""
    routes = APIRouter()

    @routes.post("/v1/token", response_model=TokenResponse, operation_id="token")
    async def token(body: TokenRequest) -> Response:
        """Request a new token.

        Demander un nouveau jeton.
        """
        dialect = service.dialect
        text = service.tokens.issue(body.client_id, body.application_id, body.secret, dialect)
        unit = UNITS_PER_SECOND[dialect.expires_in_unit]
        answer = {
            "access_token": text,
            "token_type": dialect.token_type,
            "expires_in": round(dialect.token_lifetime * unit),
        }
        match dialect.scope_shape:
            case "array":
                answer["scope"] = list(dialect.granted_scopes)
            case "space":
                answer["scope"] = " ".join(dialect.granted_scopes)
            case "empty":
                answer["scope"] = []
            case "address":
                answer["scope"] = [f"api://bms/{each}" for each in dialect.granted_scopes]
            case "missing":
                pass
        return response(json_reply(service.encoder.encode(answer), dialect.token_status))

    return routes
