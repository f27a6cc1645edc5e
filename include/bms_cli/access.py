"""Subcommand on the access to the service, through a connection of Airflow."""

from typing import Annotated

import typer

from bms_cli.options import Json
from bms_cli.output import UNKNOWN, show, show_error, show_json


def access(
    connection: Annotated[str, typer.Argument(help="Connection of type bms.")] = "bms_default",
    as_json: Json = False,
) -> None:
    """Request a token, and show its granted and missing scopes and its remaining seconds.

    Reads the connection from its variable (AIRFLOW_CONN_BMS_DEFAULT) or a secrets backend. Exits with
    2 without a token.
    """
    from bms_provider.hooks.bms import BmsHook  # noqa: TID251 - reads a connection of Airflow

    granted, text = BmsHook(connection).test_connection()
    if as_json:
        show_json({"granted": granted, "text": text})
    elif granted:
        show(text)
    else:
        show_error(f"bms access: {text}")
    raise typer.Exit(0 if granted else UNKNOWN)
