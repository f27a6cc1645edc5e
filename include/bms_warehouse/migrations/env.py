"""Alembic environment; runs on the connection of `bms_warehouse.database`."""

from alembic import context

from bms_warehouse.migration import VERSION_TABLE
from bms_warehouse.tables import METADATA, PRIVATE_METADATA
from bms_warehouse.tables.schema import SCHEMA


def _ours(name: str | None, kind: str, _parents: object) -> bool:
    schemas = (SCHEMA, PRIVATE_METADATA.schema)
    return name in schemas if kind == "schema" else name != VERSION_TABLE


connection = context.config.attributes["connection"]
if connection is None:
    raise RuntimeError("run migrations with `bms migrate`")
context.configure(
    connection=connection,
    target_metadata=[METADATA, PRIVATE_METADATA],
    version_table=VERSION_TABLE,
    version_table_schema=SCHEMA,
    include_schemas=True,
    include_name=_ours,
    transactional_ddl=True,
)
context.run_migrations()
