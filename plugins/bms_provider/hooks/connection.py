"""What a connection of type bms says, read as the client's settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_type_hints
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from bms_provider.provider_info import CONNECTION_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Connection

    from bms.settings import Settings

OWN_EXTRAS = frozenset({"entities"})
"""Extras that say what to work on; every other one is a setting of the client, by its name."""

LONGEST = 18
"""Digits of an entity's number; a column holds no more."""

FIELDS = {
    "base_url": "host (Base URL)",
    "client_id": "login (Client ID)",
    "secret": "password (Secret)",
    **{name: f"extra {name} ({field['label']})" for name, field in CONNECTION_FIELDS.items()},
}
"""Where a person finds a setting of the client, in the connection's form."""


class BadConnection(ValueError):
    """A connection of type bms can't be used; names the field and what it takes, never a value."""

    retriable = False


def given_extras(connection: Connection) -> dict[str, Any]:
    """Return the extras that hold something; raise `BadConnection` for unreadable or unknown ones.

    An unknown name is an error, not passed over: a misspelt setting would change what is read
    without a word.
    """
    where = f"Connection {connection.conn_id}: "
    try:
        json.loads(connection.extra or "{}")
    except (ValueError, RecursionError):
        raise BadConnection(f"{where}extra takes a JSON object.") from None
    extras = connection.extra_dejson  # Airflow's own reading masks the secrets among them
    if not isinstance(extras, dict):
        raise BadConnection(f"{where}extra takes a JSON object.")
    unknown = sorted(extras.keys() - CONNECTION_FIELDS.keys())
    if unknown:
        known = ", ".join(CONNECTION_FIELDS)
        raise BadConnection(f"{where}unknown extra {', '.join(unknown)}; there are {known}.")
    return {name: value for name, value in extras.items() if value not in (None, "")}


def client_settings(connection: Connection, extras: Mapping[str, Any]) -> Settings:
    """Read the client's settings off a connection; raise `BadConnection` naming what is wrong."""
    from bms.settings import Settings  # noqa: PLC0415 - not wanted at import

    where = f"Connection {connection.conn_id}: "
    if connection.schema:
        raise BadConnection(f"{where}schema is not used; {FIELDS['base_url']} takes the path too.")
    kinds = get_type_hints(Settings)
    values: dict[str, Any] = {
        "base_url": _base_url(connection, where),
        "client_id": connection.login,
        "secret": connection.password,
    }
    for name, value in extras.items():
        if name not in OWN_EXTRAS:
            values[name] = _setting(name, value, kinds[name], where)
    for name in ("base_url", "client_id", "application_id", "secret"):
        if not values.get(name):
            raise BadConnection(f"{where}{FIELDS[name]} is empty.")
    try:
        return Settings(**values)
    except ValueError as error:
        # Its own texts begin with the setting's name and never quote a value.
        name, _, said = str(error).partition(" ")
        raise BadConnection(f"{where}{FIELDS[name]} {said}.") from None


def exposures(settings: Settings) -> list[str]:
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


def entity_list(given: object) -> list[int]:
    """Read entities as a list, one number or comma-separated text; raise `BadConnection` otherwise."""
    parts = given if isinstance(given, list) else str(given or "").split(",")
    texts = [str(part).strip() for part in parts]
    if not all(text.isdecimal() and len(text) <= LONGEST for text in texts if text):
        raise BadConnection(f"{FIELDS['entities']} takes numbers, as in 1, 2, 5.")
    return [int(text) for text in texts if text]


def _setting(name: str, value: object, kind: Any, where: str) -> Any:
    """Read one extra as its setting's type, however it was written."""
    import msgspec  # noqa: PLC0415

    schema: Any = CONNECTION_FIELDS[name]["schema"]
    # Without a cause: its text may quote what stands in the field, perhaps a secret.
    bad = BadConnection(f"{where}{FIELDS[name]} takes {_takes(name, schema)}.")
    try:
        setting = msgspec.convert(_meant(name, value, kind), kind, strict=False)
    except (ValueError, RecursionError):
        raise bad from None
    if name == "time_zone" and setting not in available_timezones():
        raise bad
    return setting


def _meant(name: str, value: object, kind: Any) -> object:
    """Return an extra as it was meant where the form or a URI could give it as text only."""
    if name == "verify" and str(value).lower() in {"true", "false"}:
        return str(value).lower() == "true"
    if name == "proxies" and isinstance(value, str) and value.lstrip().startswith("{"):
        return json.loads(value)
    if kind in (str, str | None) and type(value) is int:
        return str(value)  # an id of digits, written without quotes
    return value


def _takes(name: str, schema: Mapping[str, Any]) -> str:
    """Return what a field of the form may hold."""
    if "enum" in schema:
        return " or ".join(schema["enum"])
    if name == "time_zone":
        return "the name of a time zone, as Europe/Paris"
    if name == "verify":
        return "true, false or a path"
    words = {
        "integer": "a whole number from 1",
        "number": "a number above 0",
        "boolean": "true or false",
        "object": "a JSON object of text",
        "string": "text, in quotes where it is written as JSON",
    }
    return words[schema["type"][0]]


def _base_url(connection: Connection, where: str) -> str:
    """Return the base URL: host, with the port beside it only where host names none."""
    host = (connection.host or "").strip()
    if not host:
        return ""
    try:
        parts = urlsplit(host if "://" in host else f"https://{host}")
        if parts.port is None and connection.port:
            parts = parts._replace(netloc=f"{parts.netloc}:{connection.port}")
    except ValueError:
        raise BadConnection(
            f"{where}{FIELDS['base_url']} takes a URL, as https://bms.example.com:443/api."
        ) from None
    return parts.geturl()
