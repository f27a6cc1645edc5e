"""Identity of a list of the service in the tables of the warehouse."""

from typing import NamedTuple

from sqlalchemy import ColumnElement, Table


class ListId(NamedTuple):
    """A list of a resource."""

    resource: str
    id_entity: int = 0
    """The entity of the list; 0 if the resource has one list."""

    def of(self, table: Table) -> ColumnElement[bool]:
        """Return the condition of the list's rows in a table."""
        columns = table.c
        return (columns.resource == self.resource) & (columns.id_entity == self.id_entity)
