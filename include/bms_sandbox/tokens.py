"""Access tokens: JWTs with scopes, expiry and revocation (section Authentication)."""

import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, fields
from typing import Any

import jwt

from bms_sandbox.dialect import Dialect
from bms_sandbox.errors import ServiceError


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials of the token request."""

    client_id: str
    application_id: str
    secret: str = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """The credentials as variables of the sandbox: any local user can read a command line."""
        return {variable: getattr(self, name) for name, variable in VARIABLES.items()}


VARIABLES = {each.name: f"BMS_SANDBOX_{each.name.upper()}" for each in fields(Credentials)}
"""Environment variables by field of the credentials."""


@dataclass(slots=True)
class Grant:
    """Scopes and expiry (Unix seconds) of a live token."""

    scopes: frozenset[str]
    expires_at: float


class Tokens:
    """Issue, check and revoke tokens; expiry uses real time, like the clients."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self.issued = 0
        self._key = secrets.token_hex(32)
        self._grants: dict[str, Grant] = {}

    def issue(self, client_id: str, application_id: str, secret: str, dialect: Dialect) -> str:
        """Return a new token; raise 401 for wrong credentials."""
        pairs = zip((client_id, application_id, secret), astuple(self.credentials), strict=True)
        if not all(hmac.compare_digest(a.encode(), b.encode()) for a, b in pairs):
            raise ServiceError(
                401, "invalid_client", "client_id, application_id or secret is wrong"
            )
        now = time.time()
        claims: dict[str, Any] = {
            "sub": client_id,
            "iat": int(now),
            "jti": secrets.token_hex(8),
            "scope": list(dialect.granted_scopes),
        }
        if dialect.exp_claim:
            claims["exp"] = int(now + dialect.token_lifetime)
        token = jwt.encode(claims, self._key, algorithm="HS256")
        if dialect.one_live_token:
            self._grants.clear()
        self._grants[token] = Grant(frozenset(dialect.granted_scopes), now + dialect.token_lifetime)
        self.issued += 1
        return token

    def authorise(self, headers: Mapping[bytes, bytes], scope: str) -> None:
        """Raise 401 without a live token, 403 without `scope`."""
        token = bearer(headers)
        grant = self._grants.get(token)
        challenge = {"WWW-Authenticate": "Bearer"}
        if grant is None:
            raise ServiceError(401, "invalid_token", "no valid bearer token", headers=challenge)
        if grant.expires_at <= time.time():
            raise ServiceError(401, "expired_token", "the token has expired", headers=challenge)
        if scope not in grant.scopes:
            raise ServiceError(403, "missing_scope", f"the token lacks the scope {scope}")

    def check_token_request(self, headers: Mapping[bytes, bytes], dialect: Dialect) -> None:
        """Raise 401 for a token request without the bearer that the dialect requires."""
        token = bearer(headers)
        wanted = dialect.token_bearer
        if wanted == "none" or (wanted == "any" and token):
            return
        if not (token and hmac.compare_digest(token.encode(), self.credentials.secret.encode())):
            raise ServiceError(401, "invalid_token", "the token operation requires a bearer")

    def revoke(self, token: str) -> bool:
        """Revoke `token`; return whether it was live."""
        return self._grants.pop(token, None) is not None

    def revoke_all(self) -> int:
        """Revoke all tokens; return their number."""
        count = len(self._grants)
        self._grants.clear()
        return count

    def live(self) -> int:
        """Return the number of live tokens."""
        now = time.time()
        return sum(grant.expires_at > now for grant in self._grants.values())


def bearer(headers: Mapping[bytes, bytes]) -> str:
    """Return the bearer credential of a request, empty if there is none."""
    scheme, _, credential = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""
