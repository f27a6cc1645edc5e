"""Names of codes: what the service calls a code in each language."""

from sqlalchemy import Column, Table

from bms_warehouse.tables.schema import METADATA, TEXT, TIMESTAMP

code_name = Table(
    "code_name",
    METADATA,
    Column("resource", TEXT, primary_key=True, comment="Table that holds the code."),
    Column("field", TEXT, primary_key=True, comment="Column that holds the code."),
    Column("code", TEXT, primary_key=True, comment="The code."),
    Column("language", TEXT, primary_key=True, comment="The language asked for, EN or FR."),
    Column("name", TEXT, nullable=False, comment="What the service calls the code."),
    Column("seen_at", TIMESTAMP, nullable=False, comment="When it last got this name."),
    comment="Names of codes per language, kept apart so that a language changes no row.",
)
