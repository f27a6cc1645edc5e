"""SQL of the tables, views and grants that follow from records; `scripts/reference` writes it.

A released migration contains its SQL, so that later changes of a record do not change it.
"""

from collections.abc import Iterator

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from bms.records import ClientInvoice
from bms.records.declaration import labels
from bms_warehouse.resources import RESOURCES
from bms_warehouse.tables.history import VIEWS
from bms_warehouse.tables.invoices import CLIENT_INVOICE_FIELDS
from bms_warehouse.tables.schema import METADATA, PRIVATE_METADATA

_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy's own is untyped
_LANGUAGES = ("en", "fr")


def resource_tables() -> str:
    """Return the tables of invoices and mirrored resources, with their superseded rows."""
    tables = METADATA.tables | PRIVATE_METADATA.tables
    names = [str(view).removesuffix("_version") for view in VIEWS.tables.values()]
    return "\n".join(_table(tables[name + end]) for name in names for end in ("", "_superseded"))


def resource_views() -> str:
    """Return the views of all versions, and of the current invoices with labels of their codes."""
    comment = "Every invoice that the service still returns, with code labels in both languages."
    views = [("bms.client_invoice_current", _current_invoices(), comment)]
    views += [(str(each), each.info["query"], each.comment or "") for each in VIEWS.tables.values()]
    return "\n".join(
        f"create view {name} as\n{query};\ncomment on view {name} is\n    '{comment}';\n"
        for name, query, comment in views
    )


def resource_grants() -> str:
    """Return the grants on tables and views of mirrored resources."""
    lines = [
        f"    grant select on bms.{each.name}, bms.{each.name}_version to bms_analyst;"
        for each in RESOURCES
    ]
    lines += [
        f"    grant select on bms.{each.name} to bms_private_reader;"
        for each in RESOURCES
        if each.private_columns
    ]
    return "\n".join(lines)


def _table(table: Table) -> str:
    """Return a table's SQL; comments at the ends of lines become comments in the database."""
    base = table.metadata.tables.get(str(table).removesuffix("_superseded"), table)
    copied = {*base.columns.keys()} if base is not table else set()
    lines = [f"create table {table} ( -- {table.comment}"]
    if copied:
        lines.append(f"    like {base} including comments,")
    for line in str(CreateTable(table).compile(dialect=_DIALECT)).strip().splitlines()[1:-1]:
        text = line.strip()
        column = table.columns.get(text.split(" ")[0].strip('"'))
        if not text or (column is not None and column.name in copied):
            continue
        lines.append(f"    {text}" + (f" -- {column.comment}" if column is not None else ""))
    return "\n".join([*lines, ");", *_indexes(table), ""])


def _indexes(table: Table) -> Iterator[str]:
    for index in sorted(table.indexes, key=lambda each: str(each.name)):
        yield f"{CreateIndex(index).compile(dialect=_DIALECT)};"


def _current_invoices() -> str:
    codes = labels(ClientInvoice)
    shown = [
        ", ".join(f"{codes[name]}_{each}.name as {name}_{each}" for each in _LANGUAGES)
        if name in codes
        else f"i.{name}"
        for name in CLIENT_INVOICE_FIELDS
    ]
    joins = [
        f"left join bms.code_name {code}_{each} on {code}_{each}.resource = 'client_invoice'\n"
        f"    and {code}_{each}.field = '{code}' and {code}_{each}.code = i.{code}"
        f" and {code}_{each}.language = '{each.upper()}'"
        for code in codes.values()
        for each in _LANGUAGES
    ]
    own = "i._version, i._first_seen_at, i._changed_at, day.read_at as _last_seen_at"
    return "\n".join(
        [
            f"select {', '.join(shown)},\n    {own}",
            "from bms.client_invoice i",
            "left join bms.client_invoice_day day on day.id_entity = i.id_entity and day.day = i._day",
            *joins,
            "where i._missing_since is null",
        ]
    )
