"""Conversion of a warehouse connection, preset in Airflow's URI or JSON form, to a libpq URI."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from stack.processes import StackError

SERVICE = "AIRFLOW_CONN_BMS_DEFAULT"
WAREHOUSE = "AIRFLOW_CONN_BMS_WAREHOUSE"

# Extras of Airflow's PostgresHook that libpq rejects.
NOT_LIBPQ = frozenset(
    {
        "aws_conn_id",
        "azure_conn_id",
        "azure_oauth_scope",
        "cluster-identifier",
        "cursor",
        "enable_log_db_messages",
        "iam",
        "redshift",
        "redshift-serverless",
        "sqlalchemy_query",
        "sqlalchemy_scheme",
        "workgroup-name",
    }
)


def warehouse_url(environ: Mapping[str, str]) -> str | None:
    """Return the libpq URI of the user's warehouse, None if none is preset.

    Raises StackError for an unreadable preset; the text never contains the value.
    """
    preset = environ.get(WAREHOUSE, "").strip()
    if not preset:
        return None
    fields = _json_form(preset) if preset.startswith("{") else _uri_form(preset)
    if fields["conn_type"] not in {"postgres", "postgresql"}:
        raise StackError(f"{WAREHOUSE} must be a connection of type postgres.")
    return _libpq(fields)


def embedded_warehouse(socket_folder: str, port: int, database: str) -> str:
    """Return a connection to the embedded server in Airflow's JSON form."""
    return json.dumps(
        {
            "conn_type": "postgres",
            "host": socket_folder,
            "port": port,
            "login": "postgres",
            "schema": database,
        }
    )


def _json_form(preset: str) -> dict[str, Any]:
    try:
        fields = json.loads(preset)
        extra = fields.get("extra") or {}
        extra = json.loads(extra) if isinstance(extra, str) else dict(extra)
        port = int(fields["port"]) if fields.get("port") else None
    except (ValueError, TypeError, AttributeError):
        # Without the cause: its message quotes the value, which may contain a password.
        raise StackError(f"{WAREHOUSE} is not a valid Airflow connection in JSON form.") from None
    return {"conn_type": "", **fields, "port": port, "extra": extra}


def _uri_form(preset: str) -> dict[str, Any]:
    try:
        parts = urlsplit(preset)
        extra = dict(parse_qsl(parts.query, keep_blank_values=True))
        if "__extra__" in extra:  # Airflow's form of extras that do not fit a query string
            extra = json.loads(extra["__extra__"])
        port = parts.port
    except ValueError:
        raise StackError(f"{WAREHOUSE} is not a valid Airflow connection in URI form.") from None
    address = parts.netloc.rpartition("@")[2]
    return {
        "conn_type": parts.scheme,
        # Not parts.hostname, which lowers the case; a socket folder is percent-encoded.
        "host": unquote(address.removesuffix(f":{port}").rstrip(":")),
        "port": port,
        "login": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "schema": unquote(parts.path.removeprefix("/")),
        "extra": extra,
    }


def _libpq(fields: Mapping[str, Any]) -> str:
    host, port = fields.get("host") or "", fields.get("port")
    login = quote(fields.get("login") or "", safe="")
    if password := fields.get("password"):
        login += f":{quote(password, safe='')}"
    query = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in fields["extra"].items()
        if name not in NOT_LIBPQ
    }
    if host.startswith("/"):  # a socket folder must be in the query: a slash ends the authority
        query = {"host": host, **({"port": str(port)} if port else {}), **query}
        host, port = "", None
    address = (f"[{host}]" if ":" in host and not host.startswith("[") else host) + (
        f":{port}" if port else ""
    )
    at = f"{login}@" if login else ""
    tail = f"?{urlencode(query, quote_via=quote)}" if query else ""
    return f"postgresql://{at}{address}/{quote(fields.get('schema') or '', safe='')}{tail}"
