"""Table of code labels by language."""

from sqlalchemy import Table

from bms_warehouse.tables.schema import METADATA, TEXT, TIMESTAMP, column

code_name = Table(
    "code_name",
    METADATA,
    column("resource", TEXT, "Table with the code.", primary_key=True),
    column("field", TEXT, "Column with the code.", primary_key=True),
    column("code", TEXT, "Code.", primary_key=True),
    column("language", TEXT, "Requested language, EN or FR.", primary_key=True),
    column("name", TEXT, "Label of the code."),
    column("seen_at", TIMESTAMP, "Latest read of this label."),
    comment="Code labels by language.",
)
