"""Options that several commands have."""

from typing import Annotated

import typer


def given(value: str) -> str:
    """Refuse an empty value."""
    if not value:
        raise typer.BadParameter("the value is empty")
    return value


def typed(value: str) -> str:
    """Return what names a thing, without the blanks that copying adds; refuse what no key can hold."""
    plain = " ".join(value.split())
    if not plain.isprintable():
        raise typer.BadParameter("the value has a character that is not UTF-8, or is invisible")
    return given(plain)


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
