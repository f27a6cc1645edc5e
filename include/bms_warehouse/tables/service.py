"""The service whose data the warehouse holds."""

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
        comment="1 for the first service, one more at each change; the highest is current.",
    ),
    Column("host", TEXT, nullable=False, comment="Host and path of the base URL."),
    Column("application_id", TEXT, nullable=False, comment="The application id of the connection."),
    Column("since", TIMESTAMP, nullable=False, comment="When it was stored."),
    Column("confirmed", Boolean, nullable=False, comment="Whether an operator confirmed a change."),
    comment="The service that the warehouse is filled from; flows refuse another one.",
)
