"""Table of the services that fill the warehouse."""

from sqlalchemy import Boolean, Column, Integer, Table

from bms_warehouse.tables.schema import METADATA, TEXT, TIMESTAMP

service_identity = Table(
    "service_identity",
    METADATA,
    Column(
        "id",
        Integer,
        primary_key=True,
        autoincrement=False,
        comment="1 for the first service, plus 1 per change; the highest is current.",
    ),
    Column("host", TEXT, nullable=False, comment="Host and path of the base URL."),
    Column("application_id", TEXT, nullable=False, comment="The application id of the connection."),
    Column("since", TIMESTAMP, nullable=False, comment="Time of storage."),
    Column(
        "confirmed", Boolean, nullable=False, comment="Whether an operator confirmed the change."
    ),
    comment="Service that fills the warehouse; flows refuse any other service.",
)
