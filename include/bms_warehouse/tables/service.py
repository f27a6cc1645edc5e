"""Table of the services that fill the warehouse."""

from sqlalchemy import Boolean, Integer, Table

from bms_warehouse.tables.schema import METADATA, TEXT, TIMESTAMP, column

service_identity = Table(
    "service_identity",
    METADATA,
    column(
        "id",
        Integer,
        "1 for the first service, plus 1 per change; the highest is current.",
        primary_key=True,
        autoincrement=False,
    ),
    column("host", TEXT, "Host and path of the base URL."),
    column("application_id", TEXT, "The application id of the connection."),
    column("since", TIMESTAMP, "Time of storage."),
    column("confirmed", Boolean, "Whether an operator confirmed the change."),
    comment="Service that fills the warehouse; flows refuse any other service.",
)
