"""The loader keeps its database session active during a long load."""

from datetime import datetime

import pyarrow as pa
from sqlalchemy import Connection, Engine, text

from bms_flows.invoices.load import Languages, Loader
from bms_warehouse import loads
from bms_warehouse.database import clock
from bms_warehouse.loads import driver


def last_asked(engine: Engine, connection: Connection) -> datetime:
    """Return when a session was last asked something."""
    pid = driver(connection).info.backend_pid
    with engine.connect() as other:
        query = text("select query_start from pg_stat_activity where pid = :pid")
        return other.scalars(query, {"pid": pid}).one()


def test_a_load_without_changes_keeps_its_session_active(warehouse: Engine) -> None:
    """A session that asks nothing in a transaction for ten minutes is ended; years take longer to read."""
    with warehouse.begin() as connection:
        loader = Loader(connection, 1, Languages("FR", "FR"), clock(connection))
        before = last_asked(warehouse, connection)
        loader.add(loads.copy_buffer(pa.table({"id_invoice": pa.array([], pa.int64())})))
        assert last_asked(warehouse, connection) > before
