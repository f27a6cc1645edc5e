"""Options that several commands have."""

from typing import Annotated

import typer


def given(value: str) -> str:
    """Refuse an empty value."""
    if not value:
        raise typer.BadParameter("the value is empty")
    return value


Url = Annotated[
    str,
    typer.Option(
        envvar="BMS_WAREHOUSE_URL",
        show_envvar=True,
        callback=given,
        help="URI of the warehouse, postgresql://user@host/database.",
    ),
]
DataRoot = Annotated[
    str,
    typer.Option(
        envvar="BMS_DATA_ROOT",
        show_envvar=True,
        callback=given,
        help="Folder of the stored files, file://… or s3://…",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
