"""Settings of the client from an Airflow connection of type bms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_type_hints
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from bms_provider.provider_info import CONNECTION_FIELDS, RETIRED_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Connection

    from bms.settings import ClientSettings

OWN_EXTRAS = frozenset({"entities"})
"""Extras of the hook; every other extra is the client setting of the same name."""

MAX_DIGITS = 18
"""Digits of an entity's number, so that a 64-bit column holds it."""

FIELDS = {
    "base_url": "host (Base URL)",
    "client_id": "login (Client ID)",
    "secret": "password (Secret)",
    **{name: f"extra {name} ({field['label']})" for name, field in CONNECTION_FIELDS.items()},
}
"""Name of each client setting in the connection form."""


class BadConnection(ValueError):
    """A connection is unusable; the text names the field and its accepted values, never its value."""

    retriable = False


def given_extras(connection: Connection) -> dict[str, Any]:
    """Return the known extras that have a value; raise `BadConnection` if they are no JSON object."""
    return {
        name: value
        for name, value in _extras(connection).items()
        if name in CONNECTION_FIELDS and value not in (None, "")
    }


def unknown_extras(connection: Connection) -> str:
    """Return the extras that this version does not know, comma-separated, and what replaces them.

    They are ignored: during a rolling upgrade, older workers read the connection of a newer version.
    """
    unknown = sorted(_extras(connection).keys() - CONNECTION_FIELDS.keys())
    return ", ".join(
        f"{name} ({RETIRED_FIELDS[name]})" if name in RETIRED_FIELDS else name for name in unknown
    )


def _extras(connection: Connection) -> dict[str, Any]:
    try:
        extras = json.loads(connection.extra or "{}")
    except (ValueError, RecursionError):
        extras = None
    if not isinstance(extras, dict):
        raise BadConnection(f"Connection {connection.conn_id}: extra takes a JSON object.")
    return extras


def client_settings(connection: Connection, extras: Mapping[str, Any]) -> ClientSettings:
    """Return the client's settings; raise `BadConnection`, which names the wrong field."""
    from bms.settings import ClientSettings  # noqa: PLC0415 - keeps the import of the hook light

    prefix = f"Connection {connection.conn_id}: "
    if connection.schema:
        raise BadConnection(
            f"{prefix}schema is not used. Put the path into {FIELDS['base_url']} instead."
        )
    types = get_type_hints(ClientSettings)
    values: dict[str, Any] = {
        "base_url": _base_url(connection, prefix),
        "client_id": connection.login,
        "secret": connection.password,
    }
    for name, value in extras.items():
        if name not in OWN_EXTRAS:
            values[name] = _setting(name, value, types[name], prefix)
    for name in ("base_url", "client_id", "application_id", "secret"):
        if not values.get(name):
            raise BadConnection(f"{prefix}{FIELDS[name]} is empty.")
    try:
        return ClientSettings(**values)
    except ValueError as error:
        # The text begins with the name of the setting and quotes no value.
        name, _, reason = str(error).partition(" ")
        raise BadConnection(f"{prefix}{FIELDS[name]} {reason}.") from None


def exposures(settings: ClientSettings) -> list[str]:
    """Return a warning for each way in which the connection exposes the secret and the data."""
    found = []
    if not settings.secure and not settings.loopback:
        found.append(
            f"{FIELDS['base_url']} is http://: the secret, tokens and personal data travel in "
            "plain text. Use https://."
        )
    if settings.secure and settings.verify is False:
        found.append(
            f"{FIELDS['verify']} is false: any host can pass as the service and read the secret. "
            "Name the file of the certificate authority instead."
        )
    return found


def remarks(connection: Connection) -> str:
    """Return what is assumed about a host without a scheme, and which credential has a blank at an end."""
    host = (connection.host or "").strip()
    found = []
    if host and "://" not in host:
        found.append(f"{FIELDS['base_url']} names no scheme: https:// is assumed.")
    for name, value in (("client_id", connection.login), ("secret", connection.password)):
        if value and value != value.strip():  # files and environments of secrets often end so
            found.append(f"{FIELDS[name]} begins or ends with a blank or line break.")
    return " ".join(found)


def entity_list(given: object) -> list[int]:
    """Return entities given as a list, a number or comma-separated text; raise `BadConnection`."""
    parts = given if isinstance(given, list) else str(given or "").split(",")
    texts = [str(part).strip() for part in parts]
    if not all(text.isdecimal() and len(text) <= MAX_DIGITS for text in texts if text):
        raise BadConnection(f"{FIELDS['entities']} takes numbers, for example 1, 2, 5.")
    return [int(text) for text in texts if text]


def _setting(name: str, value: object, type_: Any, prefix: str) -> Any:
    """Return an extra as its setting's type, whether it was written as JSON or as text."""
    import msgspec  # noqa: PLC0415

    schema: Any = CONNECTION_FIELDS[name]["schema"]
    # Raised without a cause, whose text may quote a secret.
    invalid = BadConnection(f"{prefix}{FIELDS[name]} takes {_accepted(name, schema)}.")
    try:
        setting = msgspec.convert(_parsed(name, value, type_), type_, strict=False)
    except (ValueError, RecursionError):
        raise invalid from None
    if name == "time_zone" and setting not in available_timezones():
        raise invalid
    return setting


def _parsed(name: str, value: object, type_: Any) -> object:
    """Return the value that a text represents, where the form or a URI transports text only."""
    if name == "verify" and str(value).lower() in {"true", "false"}:
        return str(value).lower() == "true"
    if name == "proxies" and isinstance(value, str) and value.lstrip().startswith("{"):
        return json.loads(value)
    if type_ in (str, str | None) and type(value) is int:
        return str(value)  # an id of digits without quotes
    return value


def _accepted(name: str, schema: Mapping[str, Any]) -> str:
    """Return the accepted values of a field, in words."""
    if "enum" in schema:
        return " or ".join(schema["enum"])
    if name == "time_zone":
        return "the name of a time zone, for example Europe/Paris"
    if name == "verify":
        return "true, false or a path"
    words = {
        "integer": "a whole number from 1",
        "number": "a number above 0",
        "boolean": "true or false",
        "object": "a JSON object of text",
        "string": "text, quoted in JSON",
    }
    return words[schema["type"][0]]


def _base_url(connection: Connection, prefix: str) -> str:
    """Return the base URL: the host, and the connection's port if the host names none."""
    host = (connection.host or "").strip()
    if not host:
        return ""
    if "/" not in host and host.count(":") > 1 and "[" not in host:
        host = f"[{host}]"  # of an IPv6 address, Airflow's URIs lose the brackets
    try:
        parts = urlsplit(host if "://" in host else f"https://{host}")
        if parts.port is None and connection.port:
            parts = parts._replace(netloc=f"{parts.netloc}:{connection.port}")
    except ValueError:
        raise BadConnection(
            f"{prefix}{FIELDS['base_url']} takes a URL, for example "
            "https://bms.example.com:443/api."
        ) from None
    return parts.geturl()
