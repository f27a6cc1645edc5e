"""The command `bms doctor`: faults of warehouse, disk, service, Airflow and settings, with remedies."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from bms_cli.options import DataRoot, Json, Url
from bms_cli.output import FAILED, UNKNOWN, WELL, show_result
from bms_cli.warehouse import connect

if TYPE_CHECKING:
    from bms.settings import ClientSettings


def doctor(
    url: Url,
    data_root: DataRoot,
    free_gb: Annotated[
        float, typer.Option(min=0, max=10**6, help="Room that both disks should have, in GB.")
    ] = 2.0,
    as_json: Json = False,
) -> None:
    """Name the faults that stop the flows or will, each with its remedy.

    Reads Airflow's state over its REST API (BMS_AIRFLOW_URL, BMS_AIRFLOW_USER, BMS_AIRFLOW_PASSWORD), the
    service with the connection in AIRFLOW_CONN_BMS_DEFAULT, or by Airflow's own test. Exits with 0 if
    nothing was found, 1 if something was, and 2 if nothing was found but something could not be checked.
    """
    from bms_flows.doctor.checks import examine
    from bms_flows.runtime import storage

    engine, environment = connect(url), dict(os.environ)
    try:
        root = storage.data_root(data_root)
        report = examine(engine, root, environment, int(free_gb * 1e9), _connection)
    finally:
        engine.dispose()
    lines = [
        f"{each.code} ({each.section.severity}): {each.detail}\n"
        f"  {each.section.meaning}\n  What to do: {each.section.do}"
        for each in report.findings
    ]
    lines += [f"{name}: not checked: {why}." for name, why in report.unchecked.items()]
    lines += [f"Checked: {', '.join(report.checked)}. Findings: {len(report.findings)}."]
    show_result(as_json, report.as_dict(), lines)
    raise typer.Exit(FAILED if report.findings else UNKNOWN if report.unchecked else WELL)


def _connection() -> "ClientSettings":
    from bms_provider.hooks.bms import BmsHook  # noqa: TID251 - as a task reads its connection

    return BmsHook().settings
