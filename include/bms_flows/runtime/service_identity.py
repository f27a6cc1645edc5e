"""Identity of the service that fills the warehouse.

The first flow stores the host and application id of its connection. Every flow that writes compares
them at its start and refuses another service, because rows of two services in one warehouse can't be
separated. `bms service --confirm` confirms an intended change.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self
from urllib.parse import urlsplit

from sqlalchemy import Connection, Engine, exists, func, insert, or_, select, text

from bms.settings import is_loopback
from bms_warehouse.tables import (
    MIRROR_TABLES,
    client_invoice,
    creation,
    service_identity,
)

DEFAULT_PORTS = {"http": 80, "https": 443}
FILLED_TABLES = (
    client_invoice,
    *(tables.current for tables in MIRROR_TABLES.values()),
    creation,
)
"""Tables that hold rows of the service, or of records to create in it."""


@dataclass(frozen=True)
class ServiceIdentity:
    """Which service a connection names: host and path of its base URL, and the application id."""

    host: str
    application_id: str

    @classmethod
    def of(cls, base_url: str, application_id: str) -> Self:
        """Return the identity that a base URL and an application id name; raise `ValueError`.

        The scheme doesn't count, nor does a loopback address's port: a local sandbox starts on
        another one each time.
        """
        parts = urlsplit(base_url if "://" in base_url else f"https://{base_url}")
        if not parts.hostname:
            raise ValueError("the base URL names no host")
        host = "localhost" if is_loopback(parts.hostname) else parts.hostname
        if parts.port not in (None, DEFAULT_PORTS.get(parts.scheme)) and host != "localhost":
            host = f"{host}:{parts.port}"
        return cls(host + parts.path.rstrip("/"), application_id)


class ServiceMismatch(RuntimeError):
    """The connection names another service than the one that the warehouse is filled from."""

    retriable = False

    def __init__(self, stored: ServiceIdentity, given: ServiceIdentity) -> None:
        differs = (
            f"the connection names {given.host}"
            if given.host != stored.host
            else "the connection has another application id"
        )
        super().__init__(
            f"The warehouse holds the data of {stored.host}; {differs}. Nothing was read or "
            "written. Correct the connection or use an empty warehouse. If the change is intended: "
            f"bms service --confirm {given.host} APPLICATION_ID"
        )


def require(engine: Engine, given: ServiceIdentity, *, confirmed: bool = False) -> None:
    """Raise `ServiceMismatch` unless the warehouse is filled from this service; store the first one.

    An identity is replaced if an operator has `confirmed` it, and without a question while the
    warehouse holds no data of the service.
    """
    with engine.begin() as connection:
        if current(connection) == given:
            return
        connection.execute(text(f"lock table {service_identity} in share row exclusive mode"))
        stored = current(connection)
        if stored == given:
            return
        filled = select(or_(*(exists(select(each)) for each in FILLED_TABLES)))
        if stored is not None and not confirmed and connection.scalar(filled):
            raise ServiceMismatch(stored, given)
        following = select(func.coalesce(func.max(service_identity.c.id), 0) + 1)
        connection.execute(
            insert(service_identity).values(
                **vars(given),
                id=following.scalar_subquery(),
                since=datetime.now(UTC),
                confirmed=confirmed,
            )
        )


def confirm(engine: Engine, given: ServiceIdentity) -> None:
    """Store that the warehouse is filled from this service from now on."""
    require(engine, given, confirmed=True)


def current(connection: Connection) -> ServiceIdentity | None:
    """Return the service that the warehouse is filled from, None before the first flow."""
    latest = select(service_identity.c.host, service_identity.c.application_id)
    row = connection.execute(latest.order_by(service_identity.c.id.desc()).limit(1)).first()
    return ServiceIdentity(*row) if row else None
