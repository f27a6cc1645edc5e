"""Every check of the doctor by name, in the order of the output."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial

from sqlalchemy import Connection, Engine
from upath import UPath

from bms.settings import ClientSettings
from bms_flows.doctor import airflow, machine, service, warehouse
from bms_flows.doctor.finding import Check, Finding, NotChecked
from bms_flows.runtime.settings import FlowSettings, InvalidSetting
from bms_warehouse.errors import WarehouseError


def every_check(
    engine: Engine,
    root: UPath,
    environment: Mapping[str, str],
    least: int,
    connect: Callable[[], ClientSettings],
) -> dict[str, Check]:
    """Return the checks; both disks should have `least` bytes of room.

    `connect` reads the connection in the environment as a task does; it raises `ValueError`, which names
    the wrong field.
    """
    try:
        settings = FlowSettings.from_environment(environment)
    except InvalidSetting:  # the check of the settings names it
        settings = FlowSettings()
    sign_in = cache(partial(airflow.Api, settings.airflow_url, environment))
    of_warehouse = _of_warehouse(engine, least, settings)
    given = connect if environment.get(service.VARIABLE) else None
    return {
        "settings": partial(machine.settings, environment),
        "data root": partial(machine.data_root, root, least),
        **of_warehouse,
        **_of_service(engine if "privileges" in of_warehouse else None, given, sign_in),
        "Airflow's components": lambda: airflow.components(sign_in()),
        "import errors": lambda: airflow.import_errors(sign_in()),
        "DAGs": lambda: airflow.dags(sign_in(), settings),
        "pool": lambda: airflow.pool(sign_in(), environment),
        "version in Airflow": lambda: airflow.version(sign_in()),
    }


def _of_warehouse(engine: Engine, least: int, settings: FlowSettings) -> dict[str, Check]:
    """Return the checks of the warehouse: those of its tables only if it has them."""
    checks: dict[str, Check] = {"warehouse": _found(warehouse.connection(engine))}
    if list(checks["warehouse"]()):
        return checks
    checks |= {
        "disk of PostgreSQL": partial(_connected, engine, partial(warehouse.disk, least=least)),
        "clock of the database": partial(_connected, engine, warehouse.clocks),
        "schema": _found(warehouse.schema(engine)),
    }
    if not list(checks["schema"]()):
        checks |= {
            "privileges": partial(_connected, engine, warehouse.rights),
            "versions of processes": partial(
                _connected, engine, partial(warehouse.versions, zone=settings.time_zone)
            ),
        }
    return checks


def _of_service(
    engine: Engine | None,
    connect: Callable[[], ClientSettings] | None,
    sign_in: Callable[[], airflow.Api],
) -> dict[str, Check]:
    """Return the checks of the service: with its connection, or by Airflow's own test."""
    name = "connection to the service"
    if connect is None:
        return {name: lambda: airflow.connection_test(sign_in())}
    try:
        client = connect()
    except ValueError as error:
        return {name: _found([Finding("connection_invalid", str(error))])}
    checks: dict[str, Check] = {
        name: partial(service.access, client),
        "clock of the service": partial(service.clocks, client),
    }
    if engine:
        identity = partial(service.identity, settings=client)
        checks["identity of the service"] = partial(_connected, engine, identity)
    return checks


def _found(findings: Iterable[Finding]) -> Check:
    """Return a check whose findings are known."""
    known = list(findings)
    return lambda: known


def _connected(engine: Engine, check: Callable[[Connection], Iterable[Finding]]) -> list[Finding]:
    try:
        with engine.connect() as connection:
            return list(check(connection))
    except WarehouseError as error:  # the check of the privileges names what the user lacks
        raise NotChecked(str(error)) from None
