"""History of a table: the table of its superseded rows, and the view of all its versions."""

from sqlalchemy import Column, ForeignKeyConstraint, Index, MetaData, PrimaryKeyConstraint, Table

from bms_warehouse.tables.schema import columns

VIEWS = MetaData()
"""Views that are queried like tables; their `info["query"]` is their definition."""

_SUPERSEDED_AT = "_superseded_at time -- First read that returned the next version; null for the current version."


def superseded(table: Table) -> Table:
    """Return the table that stores the earlier versions of the rows of `table`."""
    return table.metadata.tables[f"{table.fullname}_superseded"]


def with_history(table: Table, *indexes: Index) -> Table:
    """Declare the superseded rows of `table`, and return the view of all versions of its rows.

    A row of `table` is its own latest version, so a first load writes it once. The view adds the
    earlier versions, each with the time at which the next version replaced it.
    """
    key, label = [column.name for column in table.primary_key], table.name.replace("_", " ")
    earlier = Table(
        f"{table.name}_superseded",
        table.metadata,
        *[Column(c.name, c.type, nullable=c.nullable, comment=c.comment) for c in table.columns],
        *columns(_SUPERSEDED_AT),
        PrimaryKeyConstraint(*key, "_version"),
        # Without it, a row deleted by hand would leave versions of a row that does not exist.
        ForeignKeyConstraint(key, [table.columns[name] for name in key]),
        *indexes,
        comment=f"Earlier versions of {label} rows; {table.name}_version adds the current versions.",
    )
    return Table(
        f"{table.name}_version",
        VIEWS,
        *[
            Column(c.name, c.type, primary_key=c.primary_key, comment=c.comment)
            for c in earlier.columns
        ],
        *columns("_observed_at time? -- First read that returned this version."),
        schema=table.schema,
        comment=f"History of {label} rows, from _version 1: a view of earlier and current versions.",
        info={
            "query": f"select *, _changed_at as _observed_at from {earlier} "  # noqa: S608 - our own names
            f"union all select *, null, _changed_at from {table}"
        },
    )
