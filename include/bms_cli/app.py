"""Subcommands of `bms` with their options and exit codes; each imports what it needs when it runs."""

import importlib.metadata
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bms_cli import dag_files
from bms_cli.output import (
    FAILED,
    NOTHING_FOUND,
    USAGE,
    show,
    show_error,
    show_health,
    show_json,
)
from bms_cli.warehouse import connect, connected
from bms_flows.catalog import FLOWS
from bms_flows.runtime.settings import FlowSettings, InvalidSetting

if TYPE_CHECKING:
    from upath import UPath

    from bms_flows.privacy.erase import PersonalData

# Typer's own tracebacks would show local variables, which can contain secrets.
app = typer.Typer(
    name="bms",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _given(value: str) -> str:
    if not value:
        raise typer.BadParameter("the value is empty")
    return value


Url = Annotated[
    str,
    typer.Option(
        envvar="BMS_WAREHOUSE_URL",
        show_envvar=True,
        callback=_given,
        help="URI of the warehouse, postgresql://user@host/database.",
    ),
]
DataRoot = Annotated[
    str,
    typer.Option(
        envvar="BMS_DATA_ROOT",
        show_envvar=True,
        callback=_given,
        help="Folder of the stored files, file://… or s3://…",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


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
    except InvalidSetting as error:
        show_error(f"bms: {error}")
        return USAGE
    return 0


@app.command()
def migrate(
    url: Url,
    check: Annotated[bool, typer.Option(help="Only compare the revisions.")] = False,
    as_json: Json = False,
) -> None:
    """Migrate the warehouse's schema to the revision of this code.

    Exits with 0 if the schema is up to date, otherwise with 1.
    """
    from bms_warehouse import migration

    with connected(url) as warehouse:
        if not check:
            migration.migrate(warehouse)
        current = migration.current(warehouse)
    required = migration.head()
    if as_json:
        show_json({"revision": current, "required": required})
    else:
        show(f"The warehouse is at revision {current or 'none'}; this code requires {required}.")
    raise typer.Exit(0 if current == required else FAILED)


@app.command()
def health(
    url: Url,
    notify: Annotated[
        bool,
        typer.Option(
            "--notify",
            help="Open and close alarms, and notify through BMS_NOTICE_WEBHOOK and BMS_NOTICE_SMTP.",
        ),
    ] = False,
    memory: Annotated[
        Path | None,
        typer.Option(help="File that records a notified outage of the warehouse."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the freshness of all flows, independently of Airflow.

    Exits with 0 if all flows are healthy, 1 if not, and 2 if the state is unknown.
    """
    from bms_flows.monitoring import health as checks
    from bms_flows.monitoring.channels import channels
    from bms_flows.runtime.notice import NotDelivered, broadcast

    settings = FlowSettings.from_environment()
    configured = channels(settings)
    if notify and not configured:
        raise InvalidSetting("--notify needs a channel: BMS_NOTICE_WEBHOOK or BMS_NOTICE_SMTP")
    engine, file = connect(url), memory or checks.state_file(os.environ)
    try:
        report, code = checks.check(engine, settings, notify=notify)
        show_json(report) if as_json else show_health(report)
        if notify:
            checks.deliver(engine, settings, broadcast(configured), checks.OutageFile(file), code)
    except NotDelivered as error:
        show_error(f"bms health: {error}")
        code = checks.UNKNOWN
    except OSError as error:
        show_error(
            f"bms health: {file} can't be written ({error.strerror}), so each run notifies the outage "
            "again. Set --memory to a file that persists between runs"
        )
        code = checks.UNKNOWN
    finally:
        engine.dispose()
    raise typer.Exit(code)


@app.command()
def accept_invalid(
    url: Url,
    resource: Annotated[str, typer.Argument(help="Table of the rows.")],
    field: Annotated[str, typer.Argument(help="Invalid field; empty for the whole row.")],
    code: Annotated[str, typer.Argument(help="Code of the error.")],
    name: Annotated[str, typer.Option(callback=_given, help="Who accepts the rows.")],
) -> None:
    """Accept rows that stay invalid, so that their alarm closes.

    Exits with 3 if there are no such rows.
    """
    from bms_flows.monitoring import quarantine_alarms

    with connected(url) as engine, engine.begin() as connection:
        rows = quarantine_alarms.accept(connection, resource, field, code, name)
    show(f"{rows} rows accepted.")
    raise typer.Exit(0 if rows else NOTHING_FOUND)


@app.command()
def accept_numbers(
    url: Url,
    entity: Annotated[int, typer.Argument(help="Entity of the invoices.")],
    numbers: Annotated[str, typer.Argument(help="Missing number, or the pattern of its series.")],
    name: Annotated[str, typer.Option(callback=_given, help="Who accepts the numbers.")],
    reason: Annotated[str, typer.Option(callback=_given, help="Why these invoices do not exist.")],
) -> None:
    """Accept missing invoice numbers, so that their alarm closes.

    Exits with 3 if there are no such numbers.
    """
    from bms_flows.monitoring import number_alarms

    with connected(url) as engine, engine.begin() as connection:
        accepted = number_alarms.accept(connection, entity, numbers, name, reason)
    show(f"{accepted} numbers accepted.")
    raise typer.Exit(0 if accepted else NOTHING_FOUND)


@app.command()
def rebuild(url: Url, data_root: DataRoot, as_json: Json = False) -> None:
    """Reload the invoice tables from the stored responses, in one transaction.

    Exits with 1 and changes nothing if responses are missing or damaged, or the warehouse does not answer.
    """
    from rich.console import Console
    from rich.progress import Progress

    from bms_flows.invoices.raw import ResponsesMissing
    from bms_flows.rebuild import rebuild as rebuild_invoices
    from bms_flows.runtime import storage

    root = storage.data_root(data_root)
    try:
        with connected(url) as engine, Progress(console=Console(stderr=True)) as progress:
            task = progress.add_task("Steps")
            rebuilt = rebuild_invoices(
                engine,
                root,
                lambda done, total: progress.update(task, completed=done, total=total),
            )
    except ResponsesMissing as error:
        show_error(f"Nothing was changed: {error}")
        raise typer.Exit(FAILED) from None
    same = rebuilt.before == rebuilt.after
    if as_json:
        counts = {"steps": rebuilt.steps, "skipped": rebuilt.skipped}
        show_json({**counts, "sha256": rebuilt.after, "same_rows": same})
    else:
        rows = "the same rows as before" if same else "the rows differ from before"
        show(f"Loaded {rebuilt.steps} steps again: {rows} (sha256 {rebuilt.after}).")
        if rebuilt.skipped:
            show(
                f"{rebuilt.skipped} steps have no stored responses any more; later steps read their "
                "days. Versions of rows that only these steps saw are lost."
            )


@app.command()
def erase(
    resource: Annotated[str, typer.Argument(help="A mirrored resource, such as contact.")],
    record_id: Annotated[str, typer.Argument(metavar="ID", help="Id in the service.")],
    url: Url,
    data_root: DataRoot,
    for_good: Annotated[bool, typer.Option("--for-good", help="Erase the found data.")] = False,
    as_json: Json = False,
) -> None:
    """Find the data of one record in warehouse and files, and erase it with --for-good.

    Delete the record in the service first; otherwise the next sync stores it again. Exits with 1 if the
    warehouse does not answer or a sync of the resource runs, and with 3 if nothing was found.
    """
    from bms_flows.mirror.resources import MIRRORED
    from bms_flows.privacy import erase as erasure
    from bms_flows.runtime import storage
    from bms_warehouse.locks import Busy

    if resource not in MIRRORED:
        raise typer.BadParameter(f"choose from {', '.join(sorted(MIRRORED))}")
    described, root = MIRRORED[resource], storage.data_root(data_root)
    if root.protocol in storage.LOCAL and not root.is_dir():
        raise InvalidSetting(
            "BMS_DATA_ROOT or --data-root is not a folder, so files would not be searched or erased."
            " Set it to the data root"
        )
    incomplete = "The erasure is incomplete; run the command again. " if for_good else ""
    try:
        with connected(url, incomplete) as engine:
            if for_good:
                found = erasure.erase(engine, root, described, record_id)
            else:
                with engine.connect() as connection:
                    found = erasure.find(connection, root, described, record_id)
    except Busy as error:
        show_error(f"Nothing was erased: {error}. Run the command again once the run has ended.")
        raise typer.Exit(FAILED) from None
    if as_json:
        show_json(_found(found, root) | {"erased": for_good and not found.is_empty})
    else:
        for line in erasure.describe(found, root):
            show(line)
    if found.is_empty:
        show_error(
            f"No data of {resource} {record_id} was found: check the id, --url and --data-root."
        )
        raise typer.Exit(NOTHING_FOUND)
    if not as_json:
        show("Erased." if for_good else "Nothing was erased: add --for-good to erase.")


@app.command()
def service(
    url: Url,
    confirm: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="BASE_URL APPLICATION_ID",
            help="Confirm that this service fills the warehouse from now on.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show or confirm the service that fills the warehouse."""
    from bms_flows.runtime import service_identity

    with connected(url) as engine:
        if confirm:
            try:
                given = service_identity.ServiceIdentity.of(*confirm)
            except ValueError as error:
                raise typer.BadParameter(str(error)) from None
            service_identity.confirm(engine, given)
        with engine.connect() as connection:
            stored = service_identity.current(connection)
    if as_json:
        show_json(vars(stored) if stored else {"host": None, "application_id": None})
        return
    name = f"{stored.host}, application {stored.application_id}" if stored else "no service yet"
    show(f"The warehouse is filled from {name}.")


@app.command()
def dags(
    write: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write a file for each DAG to this folder."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the DAGs, or write their files to a folder of a DAG bundle.

    Each file imports its DAG from the installed package, so an upgrade of the package needs no new
    files. Exits with 1 and writes nothing if the folder has files of these names with other content.
    """
    try:
        files = dag_files.write(write) if write else []
    except dag_files.ForeignFile as error:
        show_error(f"bms dags: {error}")
        raise typer.Exit(FAILED) from None
    except OSError as error:
        text = (
            f"cannot write to {write}: {error.strerror}. Choose a folder that this user may write"
        )
        show_error(f"bms dags: {text}")
        raise typer.Exit(FAILED) from None
    if as_json:
        show_json({"dags": [*FLOWS], "files": [str(file) for file in files]})
        return
    for line in (f"{name}: {flow.title}" for name, flow in FLOWS.items()) if not write else files:
        show(str(line))


def _found(found: "PersonalData", root: "UPath") -> dict[str, Any]:
    def names(paths: Any) -> list[str]:
        return [path.path.removeprefix(root.path).lstrip("/") for path in paths]

    return {
        "rows": dict(found.rows),
        "files": names(found.files),
        "incomplete_files": names(found.unreadable),
        "drops": [*found.drops],
    }
