"""Every check of the doctor, in the order of the output."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial

from sqlalchemy import Engine
from upath import UPath

from bms.settings import ClientSettings
from bms_flows.doctor import airflow, machine, service, warehouse
from bms_flows.doctor.finding import Finding, Report
from bms_flows.runtime.settings import FlowSettings, InvalidSetting


def examine(
    engine: Engine,
    root: UPath,
    environment: Mapping[str, str],
    least: int,
    connect: Callable[[], ClientSettings],
) -> Report:
    """Run the checks: those of the warehouse's tables only if it has them; both disks should have `least` bytes of room.

    `connect` reads the connection in the environment as a task does; it raises `ValueError`, which names
    the wrong field.
    """
    try:
        settings = FlowSettings.from_environment(environment)
    except InvalidSetting:  # the check of the settings names it
        settings = FlowSettings()
    report = Report()
    sign_in = cache(partial(airflow.Api, settings.airflow_url, environment))

    def connected(name: str, check: Callable[..., Iterable[Finding]], *given: object) -> None:
        def found() -> Iterable[Finding]:
            with engine.connect() as connection:
                yield from check(connection, *given)

        report.run(name, found)

    report.run("settings", machine.settings, environment)
    report.run("data root", machine.data_root, root, least)
    has_tables = False
    if report.run("warehouse", warehouse.connection, engine):
        connected("disk of PostgreSQL", warehouse.disk, least)
        connected("clock of the database", warehouse.clocks)
        if has_tables := report.run("schema", warehouse.schema, engine):
            connected("privileges", warehouse.rights)
            connected("versions of processes", warehouse.versions, settings.time_zone)
    name = "connection to the service"
    if not environment.get(service.VARIABLE):
        report.run(name, lambda: airflow.connection_test(sign_in()))
    else:
        try:
            client = connect()
        except ValueError as error:
            invalid = Finding("connection_invalid", str(error))
            report.run(name, lambda: [invalid])
        else:
            report.run(name, service.access, client)
            report.run("clock of the service", service.clocks, client)
            if has_tables:
                connected("identity of the service", service.identity, client)
    report.run("Airflow's components", lambda: airflow.components(sign_in()))
    report.run("import errors", lambda: airflow.import_errors(sign_in()))
    report.run("DAGs", lambda: airflow.dags(sign_in(), settings))
    report.run("pool", lambda: airflow.pool(sign_in(), environment))
    report.run("version in Airflow", lambda: airflow.version(sign_in()))
    return report
