"""What a load read and wrote, with row counts, for OpenLineage; nothing where that isn't set up."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import URL, Table

    from bms.endpoints import Endpoint

POSTGRES_PORT = 5432


def report(
    endpoint: Endpoint, base_url: str, table: Table, warehouse: URL, counts: Mapping[str, Any]
) -> None:
    """Report a load of the current task: from an operation of the service into a table.

    `counts` has `rows_read`, `inserted` and `changed`. Where OpenLineage has no transport, or is
    not installed, nothing happens.
    """
    if find_spec("airflow.providers.openlineage") is None:
        return
    from airflow.providers.openlineage import conf  # noqa: PLC0415 - an extra of ours

    if conf.is_disabled():
        return
    from airflow.providers.openlineage.api import emit_dataset_lineage  # noqa: PLC0415 - half a second
    from openlineage.client.event_v2 import InputDataset, OutputDataset  # noqa: PLC0415
    from openlineage.client.facet_v2 import (  # noqa: PLC0415
        input_statistics_input_dataset as read,
    )
    from openlineage.client.facet_v2 import (  # noqa: PLC0415
        output_statistics_output_dataset as written,
    )

    came = read.InputStatisticsInputDatasetFacet(rowCount=counts["rows_read"])
    went = written.OutputStatisticsOutputDatasetFacet(
        rowCount=counts["inserted"] + counts["changed"]
    )
    emit_dataset_lineage(
        inputs=[
            InputDataset(
                namespace=service(base_url),
                name=endpoint.path,
                inputFacets={"inputStatistics": came},
            )
        ],
        outputs=[
            OutputDataset(
                namespace=server(warehouse),
                name=f"{warehouse.database}.{table.fullname}",
                outputFacets={"outputStatistics": went},
            )
        ],
    )


def service(base_url: str) -> str:
    """Return the service's namespace: its address without what might be a login in it. Pure."""
    parts = urlsplit(base_url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"


def server(warehouse: URL) -> str:
    """Return the database server's namespace, as OpenLineage names PostgreSQL. Pure."""
    return f"postgres://{warehouse.host or 'localhost'}:{warehouse.port or POSTGRES_PORT}"
