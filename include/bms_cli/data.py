"""Commands on the data of the warehouse: `migrate`, `rebuild`, `erase`, `service`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bms_cli.options import DataRoot, Json, Url
from bms_cli.output import FAILED, NOTHING_FOUND, show, show_error, show_result
from bms_cli.warehouse import connected
from bms_flows.runtime.settings import InvalidSetting

if TYPE_CHECKING:
    from upath import UPath

    from bms_flows.privacy.erase import PersonalData


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
    text = f"The warehouse is at revision {current or 'none'}; this code requires {required}."
    show_result(as_json, {"revision": current, "required": required}, [text])
    raise typer.Exit(0 if current == required else FAILED)


def rebuild(url: Url, data_root: DataRoot, as_json: Json = False) -> None:
    """Reload the invoice tables from the stored responses, in one transaction.

    Exits with 1 and changes nothing if responses are missing or damaged.
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
    counts = {"steps": rebuilt.steps, "skipped": rebuilt.skipped}
    rows = "the same rows as before" if same else "the rows differ from before"
    lines = [f"Loaded {rebuilt.steps} steps again: {rows} (sha256 {rebuilt.after})."]
    if rebuilt.skipped:
        lines.append(
            f"{rebuilt.skipped} steps have no stored responses any more; later steps read their "
            "days. Versions of rows that only these steps saw are lost."
        )
    show_result(as_json, {**counts, "sha256": rebuilt.after, "same_rows": same}, lines)


def erase(
    resource: Annotated[str, typer.Argument(help="A mirrored resource, such as contact.")],
    record_id: Annotated[str, typer.Argument(metavar="ID", help="Id in the service.")],
    url: Url,
    data_root: DataRoot,
    for_good: Annotated[bool, typer.Option("--for-good", help="Erase the found data.")] = False,
    as_json: Json = False,
) -> None:
    """Find the data of one record in warehouse and files, or erase it.

    Delete the record in the service first; otherwise the next sync stores it again. Exits with 1 if a
    sync of the resource or a run of such a drop works, and with 3 if nothing was found.
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
    result = _found(found, root) | {"erased": for_good and not found.is_empty}
    show_result(as_json, result, erasure.describe(found, root))
    if found.is_empty:
        show_error(
            f"No data of {resource} {record_id} was found: check the id, --url and --data-root."
        )
        raise typer.Exit(NOTHING_FOUND)
    if not as_json:
        show("Erased." if for_good else "Nothing was erased: add --for-good to erase.")


def service(
    url: Url,
    confirm: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="BASE_URL APPLICATION_ID",
            help="Confirm that this service fills the warehouse.",
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
    result = vars(stored) if stored else {"host": None, "application_id": None}
    name = f"{stored.host}, application {stored.application_id}" if stored else "no service yet"
    show_result(as_json, result, [f"The warehouse is filled from {name}."])


def _found(found: "PersonalData", root: "UPath") -> dict[str, Any]:
    def names(paths: Any) -> list[str]:
        return [path.path.removeprefix(root.path).lstrip("/") for path in paths]

    return {
        "rows": dict(found.rows),
        "files": names(found.files),
        "incomplete_files": names(found.unreadable),
        "drops": [*found.drops],
    }
