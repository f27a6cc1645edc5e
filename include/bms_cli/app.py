"""The command `bms`: its subcommands and exit codes. Each imports what it needs when it runs."""

import importlib.metadata
from typing import Annotated

import typer

from bms_cli import access, alarms, dag_files, data, doctor, status, why
from bms_cli.output import UNKNOWN, show, show_error
from bms_flows.runtime.settings import InvalidSetting

# Typer's own tracebacks would show local variables, which can contain secrets.
app = typer.Typer(
    name="bms",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 well or done; 1 something needs an action, or the command was refused; "
    "2 no answer: invalid option or setting, no access, not checked; 3 the named thing does not exist.",
)
alarm = typer.Typer(no_args_is_help=True, help="Commands on one alarm.")
for command in (
    status.status,
    doctor.doctor,
    status.health,
    data.migrate,
    alarms.accept_invalid,
    alarms.accept_numbers,
    data.rebuild,
    data.erase,
    data.service,
    access.access,
    dag_files.dags,
):
    app.command()(command)
alarm.command()(alarms.ack)
app.add_typer(why.app, name="why")
app.add_typer(alarm, name="alarm")


def _show_version(given: bool) -> None:
    if given:
        show(importlib.metadata.version("bms-airflow"))
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Operate the warehouse and the flows of bms-airflow."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        app(arguments, prog_name="bms")
    except SystemExit as end:
        return int(end.code or 0)
    except (InvalidSetting, OSError) as error:  # such as a full disk that takes the output
        show_error(f"bms: {error}")
        return UNKNOWN
    return 0
