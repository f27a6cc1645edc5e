"""What Airflow's provider discovery reads: the connection form as data.

This module imports nothing: an exception here would keep every provider of Airflow from loading.
"""

from __future__ import annotations


def _text(label: str, description: str, **schema: object) -> dict[str, object]:
    return {
        "label": label,
        "description": description,
        "schema": {"type": ["string", "null"], **schema},
    }


def _number(label: str, description: str, **schema: object) -> dict[str, object]:
    return {
        "label": label,
        "description": description,
        "schema": {"type": ["number", "null"], **schema},
    }


def _yes_no(label: str, description: str, *, default: bool) -> dict[str, object]:
    return {
        "label": label,
        "description": description,
        "schema": {"type": ["boolean", "null"], "default": default},
    }


CONNECTION_FIELDS = {
    "application_id": _text("Application ID", "Sent with client id and secret to get a token."),
    "entities": _text(
        "Entities",
        "Entities whose invoices and employees are read, by number: 1, 2, 5.",
    ),
    "expires_in_unit": _text(
        "Unit of expires_in",
        "The interface does not show in what the token's life is given. A readable JWT exp wins.",
        default="seconds",
        enum=["seconds", "milliseconds", "minutes"],
    ),
    "concurrency": _number(
        "Concurrency", "Requests in flight at most, for one task.", default=8, minimum=1
    ),
    "timeout": _number("Timeout", "Seconds that one request may take.", default=60, minimum=1),
    "page_size": _number(
        "Page size",
        "Contacts and consultants asked for in one page; the service may give fewer.",
        default=100,
        minimum=1,
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
    "verify": _text("Verify TLS", "true, false, or the path of a CA bundle.", default="true"),
    "cert": _text("Client certificate", "Path of a PEM file with certificate and key."),
    "proxies": {
        "label": "Proxies",
        "description": 'By scheme, as JSON: {"https": "http://proxy.example:3128"}.',
        "schema": {"type": ["object", "null"]},
    },
    "trust_env": _yes_no(
        "Proxies from the environment",
        "Take proxies from HTTPS_PROXY and NO_PROXY where none are given.",
        default=True,
    ),
}


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
