"""Table of code labels by language."""

from sqlalchemy import Column, Table

from bms_warehouse.tables.schema import METADATA, TEXT, TIMESTAMP

code_name = Table(
    "code_name",
    METADATA,
    Column("resource", TEXT, primary_key=True, comment="Table with the code."),
    Column("field", TEXT, primary_key=True, comment="Column with the code."),
    Column("code", TEXT, primary_key=True, comment="Code."),
    Column("language", TEXT, primary_key=True, comment="Requested language, EN or FR."),
    Column("name", TEXT, nullable=False, comment="Label of the code."),
    Column("seen_at", TIMESTAMP, nullable=False, comment="Latest read of this label."),
    comment="Code labels by language.",
)
