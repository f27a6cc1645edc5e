"""What Airflow's provider discovery reads: the connection form as data.

This module imports nothing: an exception here would keep every provider of Airflow from loading.
"""


def _text(label: str, description: str, **schema: object) -> dict[str, object]:
    return _field(label, description, "string", schema)


def _count(label: str, description: str, *, default: int) -> dict[str, object]:
    return _field(label, description, "integer", {"default": default, "minimum": 1})


def _seconds(label: str, description: str, *, default: int) -> dict[str, object]:
    return _field(label, description, "number", {"default": default, "minimum": 1})


def _yes_no(label: str, description: str, *, default: bool) -> dict[str, object]:
    return _field(label, description, "boolean", {"default": default})


def _field(label: str, description: str, kind: str, schema: dict[str, object]) -> dict[str, object]:
    # Null beside the type: what Airflow's form sends for a field left empty.
    return {
        "label": label,
        "description": description,
        "schema": {"type": [kind, "null"], **schema},
    }


CONNECTION_FIELDS = {
    "application_id": _text("Application ID", "Sent with client id and secret to get a token."),
    "entities": _text(
        "Entities",
        "Numbers of the entities whose invoices and employees are read: 1, 2, 5.",
    ),
    "expires_in_unit": _text(
        "Unit of expires_in",
        "In what the token's life is given; not shown by the interface. A readable JWT exp wins.",
        default="seconds",
        enum=["seconds", "milliseconds", "minutes"],
    ),
    "concurrency": _count("Concurrency", "Requests in flight at most, for one task.", default=8),
    "timeout": _seconds("Timeout", "Seconds that one request may take.", default=60),
    "attempts": _count(
        "Attempts",
        "Tries of a request that may be repeated, the first included.",
        default=6,
    ),
    "backoff_cap": _seconds(
        "Longest wait", "Seconds between two tries at most, whatever the service asks.", default=30
    ),
    "page_size": _count(
        "Page size",
        "Contacts and consultants asked for in one page; the service may give fewer.",
        default=100,
    ),
    "time_zone": _text(
        "Time zone",
        "Of the service's date-times that come without a zone; not shown by the interface.",
        default="Europe/Paris",
    ),
    "end_date_inclusive": _yes_no(
        "end_date is inclusive",
        "Whether the service's invoice list takes the day end_date in; not shown by the interface.",
        default=True,
    ),
    "create_refused_by_429": _yes_no(
        "A create answered 429 was not executed",
        "Then it is sent again; not shown by the interface, so off.",
        default=False,
    ),
    "token_bearer_secret": _text(
        "Bearer of the token operation",
        "Only where the service wants a bearer for POST /v1/token itself.",
        format="password",
    ),
    "verify": _text(
        "Verify TLS", "true, false, or the path of a CA file or folder.", default="true"
    ),
    "cert": _text("Client certificate", "Path of a PEM file with certificate and key."),
    "proxies": _field(
        "Proxies",
        'By scheme, as JSON: {"https": "http://proxy.example:3128"}.',
        "object",
        {},
    ),
    "trust_env": _yes_no(
        "Proxies from the environment",
        "Take proxies from HTTPS_PROXY and NO_PROXY, and CA files from REQUESTS_CA_BUNDLE, where "
        "none are given here.",
        default=True,
    ),
}
"""The extras of a connection of type bms by their name: what the form asks and the hook reads."""


def stored_extras(**given: object) -> dict[str, object]:
    """Return every extra with its default, or what is `given`: a connection to be stored.

    Airflow 3.3.2's Edit form shows the extras that are stored and no other.
    """
    defaults = {name: _default(field) for name, field in CONNECTION_FIELDS.items()}
    return {**defaults, **given}


def _default(field: dict[str, object]) -> object:
    schema = field["schema"]
    return schema.get("default") if isinstance(schema, dict) else None


def get_provider_info() -> dict[str, object]:
    """Return the provider's metadata; `package-name` is the distribution's own name."""
    return {
        "package-name": "bms-airflow",
        "name": "Business Management Service",
        "description": "Hook and operators for the Business Management Service (HR, CRM, invoices).",
        "connection-types": [
            {
                "connection-type": "bms",
                "hook-class-name": "bms_provider.hooks.bms.BmsHook",
                "hook-name": "Business Management Service",
                "ui-field-behaviour": {
                    "hidden-fields": ["schema"],
                    "relabeling": {
                        "host": "Base URL",
                        "login": "Client ID",
                        "password": "Secret",
                    },
                    "placeholders": {
                        "host": "https://bms.example.com:443/api",
                        "login": "client_id",
                        "port": "443: give it, Airflow 3.3.2's Test answers 400 without a port",
                    },
                },
                "conn-fields": CONNECTION_FIELDS,
            }
        ],
    }
