"""Metadata for Airflow's provider discovery, the connection form included.

This module imports nothing but `os`, which Python itself loads: an exception here would keep Airflow from loading any provider.
"""

import os

OPERATOR_SUPPORT = {"__init__", "base", "creation", "declared", "export", "links", "selection"}
"""Modules of `bms_provider.operators` without an operator for users."""


def _text(label: str, description: str, **schema: object) -> dict[str, object]:
    return _field(label, description, "string", schema)


def _count(label: str, description: str, *, default: int) -> dict[str, object]:
    return _field(label, description, "integer", {"default": default, "minimum": 1})


def _seconds(label: str, description: str, *, default: int) -> dict[str, object]:
    return _field(label, description, "number", {"default": default, "minimum": 1})


def _yes_no(label: str, description: str, *, default: bool) -> dict[str, object]:
    return _field(label, description, "boolean", {"default": default})


def _field(label: str, description: str, kind: str, schema: dict[str, object]) -> dict[str, object]:
    # Airflow's form sends null for an empty field.
    return {
        "label": label,
        "description": description,
        "schema": {"type": [kind, "null"], **schema},
    }


CONNECTION_FIELDS = {
    "application_id": _text("Application ID", "Sent with client ID and secret in a token request."),
    "entities": _text(
        "Entities",
        "Numbers of the entities whose invoices and employees are read, for example 1, 2, 5. A new entity's "
        "invoices older than BMS_LOOKBACK_DAYS need a backfill.",
    ),
    "expires_in_unit": _text(
        "Unit of expires_in",
        "Unit of expires_in (not shown by the interface). The exp of a readable JWT takes precedence.",
        default="seconds",
        enum=["seconds", "milliseconds", "minutes"],
    ),
    "concurrency": _count(
        "Concurrency", "Maximum number of requests in flight per task.", default=8
    ),
    "timeout": _seconds("Timeout", "Seconds until a request fails.", default=60),
    "page_size": _count(
        "Page size",
        "Contacts or consultants requested per page. The service may return fewer.",
        default=100,
    ),
    "time_zone": _text(
        "Time zone",
        "Time zone of the service's date-times without one (not shown by the interface).",
        default="Europe/Paris",
    ),
    "end_date_inclusive": _yes_no(
        "end_date is inclusive",
        "Whether the service's invoice list includes the day end_date (not shown by the interface).",
        default=True,
    ),
    "create_refused_by_429": _yes_no(
        "A creation answered 429 was not executed",
        "Whether such a creation is sent again (not shown by the interface).",
        default=False,
    ),
    "empty_list_404": _yes_no(
        "A list answered 404 is empty",
        "Whether 404 means a list without rows (not shown by the interface).",
        default=False,
    ),
    "token_bearer_secret": _text(
        "Bearer token for token requests",
        "Only if the service requires a bearer token for POST /v1/token.",
        format="password",
    ),
    "verify": _text(
        "Verify TLS",
        "true, false, or the path of a file or folder of certificate authorities. With true, "
        "REQUESTS_CA_BUNDLE applies.",
        default="true",
    ),
    "cert": _text("Client certificate", "Path of a PEM file with the certificate and its key."),
    "proxies": _field(
        "Proxies",
        'Proxies by scheme, as JSON: {"https": "http://proxy.example:3128"}. Without them, HTTPS_PROXY '
        "and NO_PROXY apply.",
        "object",
        {},
    ),
}
"""Extras of a connection of type bms, by name."""

RETIRED_FIELDS = {
    "attempts": "6 attempts are a constant",
    "backoff_cap": "30 seconds are a constant",
    "trust_env": "set NO_PROXY to the service's host",
}
"""Extras of earlier versions, and what replaces them."""


def stored_extras(**given: object) -> dict[str, object]:
    """Return every extra with the `given` value or its default, for a connection to be stored.

    The Edit form of Airflow 3.3.2 shows only the extras that are stored.
    """
    defaults = {name: _default(field) for name, field in CONNECTION_FIELDS.items()}
    return {**defaults, **given}


def _default(field: dict[str, object]) -> object:
    schema = field["schema"]
    return schema.get("default") if isinstance(schema, dict) else None


def _operators(*folder: str) -> list[str]:
    """Return the modules of a folder that have operators for users."""
    path = os.path.join(os.path.dirname(__file__), *folder)  # noqa: PTH118, PTH120 - pathlib would be an import
    package = ".".join(("bms_provider", *folder))
    names = sorted(name[:-3] for name in os.listdir(path) if name.endswith(".py"))  # noqa: PTH208
    return [f"{package}.{name}" for name in names if name not in OPERATOR_SUPPORT]


def get_provider_info() -> dict[str, object]:
    """Return the provider's metadata; `package-name` must be the name of the distribution.

    The plugin is not listed: Airflow loads it by the entry point ``airflow.plugins``.
    """
    name = "Business Management Service"
    return {
        "package-name": "bms-airflow",
        "name": name,
        "description": "Hook, operators and triggers for a Business Management Service: HR, CRM, invoices.",
        "integrations": [{"integration-name": name, "tags": ["service"]}],
        "hooks": [
            {
                "integration-name": name,
                "python-modules": ["bms_provider.hooks.bms", "bms_provider.hooks.http"],
            }
        ],
        "operators": [
            {
                "integration-name": name,
                "python-modules": [*_operators("operators"), *_operators("operators", "flows")],
            }
        ],
        "triggers": [{"integration-name": name, "python-modules": ["bms_provider.triggers.inbox"]}],
        "extra-links": [
            "bms_provider.operators.links.BmsBoardLink",
            "bms_provider.operators.links.BmsFileLink",
        ],
        "notifications": [
            "bms_provider.notifiers.BmsApprovalNotifier",
            "bms_provider.notifiers.BmsNotifier",
        ],
        "asset-uris": [{"schemes": ["x-bms"], "handler": None}],
        "connection-types": [
            {
                "connection-type": "bms",
                "hook-class-name": "bms_provider.hooks.bms.BmsHook",
                "hook-name": name,
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
                        "port": "443: required, without a port the Test of Airflow 3.3.2 fails with 400",
                    },
                },
                "conn-fields": CONNECTION_FIELDS,
            }
        ],
    }
