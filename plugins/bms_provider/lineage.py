"""OpenLineage datasets with row counts, for loads and operators."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import InputDataset, OutputDataset
    from sqlalchemy import URL, Table
    from upath import UPath

    from bms.endpoints import Endpoint

POSTGRES_PORT = 5432
LOCAL = ("", "file", "local")


def report(
    endpoint: Endpoint, base_url: str, table: Table, warehouse: URL, counts: Mapping[str, Any]
) -> None:
    """Report that the current task loaded rows from an operation of the service into a table.

    `counts` has `rows_read`, `inserted` and `changed`. Does nothing if OpenLineage is not installed
    or has no transport.
    """
    if find_spec("airflow.providers.openlineage") is None:
        return
    from airflow.providers.openlineage import conf  # noqa: PLC0415 - an optional dependency

    if conf.is_disabled():
        return
    from airflow.providers.openlineage.api import emit_dataset_lineage  # noqa: PLC0415 - 0.5 s

    name = f"{warehouse.database}.{table.fullname}"
    written = counts["inserted"] + counts["changed"]
    emit_dataset_lineage(
        inputs=[_input(service(base_url), endpoint.path, counts["rows_read"])],
        outputs=[_output(server(warehouse), name, written)],
    )


def read(
    endpoint: Endpoint, base_url: str, rows: int, target: UPath | None
) -> OperatorLineage[Any, Any]:
    """Return the lineage of an operator that read rows, into a file unless `target` is None."""
    outputs = [] if target is None else [_output(*_file(target), rows)]
    return _lineage([_input(service(base_url), endpoint.path, rows)], outputs)


def created(endpoint: Endpoint, base_url: str) -> OperatorLineage[Any, Any]:
    """Return the lineage of an operator that created a record."""
    return _lineage([], [_output(service(base_url), endpoint.path, 1)])


def service(base_url: str) -> str:
    """Return the namespace of the service: its address without credentials."""
    parts = urlsplit(base_url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"


def server(warehouse: URL) -> str:
    """Return the namespace of the database server, as OpenLineage names PostgreSQL."""
    return f"postgres://{warehouse.host or 'localhost'}:{warehouse.port or POSTGRES_PORT}"


def _file(path: UPath) -> tuple[str, str]:
    """Return namespace and name of a file, as OpenLineage names files and objects of S3."""
    if path.protocol in LOCAL:
        return "file", path.path
    bucket, _, key = path.path.lstrip("/").partition("/")
    return f"{path.protocol}://{bucket}", key


def _lineage(
    inputs: Sequence[InputDataset], outputs: Sequence[OutputDataset]
) -> OperatorLineage[Any, Any]:
    from airflow.providers.openlineage.extractors import OperatorLineage  # noqa: PLC0415 - optional

    return OperatorLineage(inputs=list(inputs), outputs=list(outputs))


def _input(namespace: str, name: str, rows: int) -> InputDataset:
    from openlineage.client.event_v2 import InputDataset  # noqa: PLC0415 - optional
    from openlineage.client.facet_v2 import input_statistics_input_dataset  # noqa: PLC0415

    facet = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(rowCount=rows)
    return InputDataset(namespace=namespace, name=name, inputFacets={"inputStatistics": facet})


def _output(namespace: str, name: str, rows: int) -> OutputDataset:
    from openlineage.client.event_v2 import OutputDataset  # noqa: PLC0415 - optional
    from openlineage.client.facet_v2 import output_statistics_output_dataset  # noqa: PLC0415

    facet = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=rows)
    return OutputDataset(namespace=namespace, name=name, outputFacets={"outputStatistics": facet})
