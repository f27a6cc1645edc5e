"""The first schema of the warehouse, from `0001_baseline.sql`."""

import re
from collections.abc import Iterator
from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLE = re.compile(r"create table (\S+) \( -- (.+)")
COLUMN = re.compile(r'    ("?\w+"?) .+ -- (.+)')


def _with_comments(sql: str) -> Iterator[str]:
    """Yield the lines of `sql`; after each table, the comments at the ends of its lines."""
    table, comments = "", list[str]()
    for line in sql.splitlines():
        yield line
        if found := TABLE.fullmatch(line):
            table = found[1]
            comments = [f"comment on table {table} is {_quoted(found[2])};"]
        elif found := COLUMN.fullmatch(line):
            comments += [f"comment on column {table}.{found[1]} is {_quoted(found[2])};"]
        elif line == ");":
            yield from comments


def _quoted(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))


def upgrade() -> None:
    sql = Path(__file__).with_suffix(".sql").read_text("utf-8")
    # The driver itself executes many statements at once, and leaves `%` alone.
    op.get_bind().connection.cursor().execute("\n".join(_with_comments(sql)))


def downgrade() -> None:
    raise NotImplementedError("nothing precedes the first schema: drop bms and bms_private")
