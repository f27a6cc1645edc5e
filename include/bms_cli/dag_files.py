"""The command `dags`: files for a DAG bundle, each of which imports one DAG of the installed package."""

from pathlib import Path
from typing import Annotated

import typer

from bms_cli.options import Json
from bms_cli.output import FAILED, show_error, show_result
from bms_flows.catalog import FLOWS

# Airflow reads only files that contain the words `airflow` and `dag`.
_CONTENT = '''"""Airflow DAG {dag_id}; the installed package bms-airflow defines its steps."""

from bms_provider.dags.{dag_id} import DAG

__all__ = ["DAG"]
'''


class ForeignFile(Exception):
    """A file has the name of a DAG file but other content."""


def write_files(folder: Path) -> list[Path]:
    """Write a file for every DAG to a folder, and return their paths.

    Creates the folder. Replaces no file with other content: raises `ForeignFile` before it writes any.
    """
    contents = {folder / f"{dag_id}.py": _CONTENT.format(dag_id=dag_id) for dag_id in FLOWS}
    foreign = [
        path.name
        for path, content in contents.items()
        if path.exists() and path.read_text() != content
    ]
    if foreign:
        raise ForeignFile(
            f"{folder} has files of these names with other content: {', '.join(foreign)}. Nothing was written."
            " Choose an empty folder, or move these files away."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        path.write_text(content)
    return list(contents)


def dags(
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder of a DAG bundle, to write a file for each DAG."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the DAGs, or write their files.

    Each file only imports its DAG, so an upgrade needs no new files. Exits with 1 and writes
    nothing if the folder has files of these names with other content.
    """
    try:
        files = write_files(write) if write else []
    except ForeignFile as error:
        show_error(f"bms dags: {error}")
        raise typer.Exit(FAILED) from None
    except OSError as error:
        text = (
            f"cannot write to {write}: {error.strerror}. Choose a folder that this user may write"
        )
        show_error(f"bms dags: {text}")
        raise typer.Exit(FAILED) from None
    written = [str(file) for file in files]
    titles = (f"{name}: {flow.title}" for name, flow in FLOWS.items())
    show_result(as_json, {"dags": [*FLOWS], "files": written}, written if write else titles)
