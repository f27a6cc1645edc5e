"""Datasets and row counts for OpenLineage; no name contains credentials."""

from pathlib import Path
from typing import Any

import pytest
from airflow.providers.openlineage.extractors.base import DefaultExtractor
from sqlalchemy import make_url
from upath import UPath

from bms.errors import NotFound
from bms_provider import lineage
from bms_provider.operators.access import BmsCheckAccessOperator
from bms_provider.operators.contacts import (
    BmsCreateContactOperator,
    BmsListContactsOperator,
    BmsReadContactOperator,
)
from bms_sandbox.serve import Sandbox


@pytest.mark.parametrize(
    ("base_url", "namespace"),
    [
        ("https://bms.example.com/api/", "https://bms.example.com/api"),
        ("http://127.0.0.1:8090", "http://127.0.0.1:8090"),
        ("https://user:pass@bms.example.com:443/api", "https://bms.example.com:443/api"),
    ],
)
def test_the_namespace_of_the_service_is_its_address_without_credentials(
    base_url: str, namespace: str
) -> None:
    assert lineage.service(base_url) == namespace


@pytest.mark.parametrize(
    ("uri", "namespace"),
    [
        ("postgresql://bms:pass@db.example.com/bms", "postgres://db.example.com:5432"),
        ("postgresql://bms@db.example.com:5433/bms", "postgres://db.example.com:5433"),
        ("postgresql://bms@/bms?host=/run/postgresql", "postgres://localhost:5432"),
    ],
)
def test_the_namespace_of_the_warehouse_is_its_server(uri: str, namespace: str) -> None:
    assert lineage.server(make_url(uri)) == namespace


@pytest.mark.parametrize(
    ("path", "dataset"),
    [
        ("file:///data/operators/x.json", ("file", "/data/operators/x.json")),
        ("s3://bucket/data/x.json", ("s3://bucket", "data/x.json")),
    ],
)
def test_a_file_is_named_as_openlineage_names_files(path: str, dataset: tuple[str, str]) -> None:
    assert lineage._file(UPath(path)) == dataset


def datasets(operator: Any) -> tuple[list[Any], list[Any]]:
    """Return the inputs and outputs that OpenLineage extracts, as (namespace, name, rows)."""
    found = DefaultExtractor(operator).extract_on_complete(None)
    if found is None:
        return [], []
    inputs = [
        (e.namespace, e.name, e.inputFacets["inputStatistics"].rowCount) for e in found.inputs
    ]
    outputs = [
        (e.namespace, e.name, e.outputFacets["outputStatistics"].rowCount) for e in found.outputs
    ]
    return inputs, outputs


@pytest.mark.usefixtures("connected")
def test_operators_report_datasets_with_their_rows(sandbox: Sandbox, data_root: Path) -> None:
    listed = BmsListContactsOperator(task_id="list", filter="ALL", path="c.jsonl")
    listed.execute({})
    contacts = (sandbox.url, "/v1/CRM/contacts", 25)
    assert datasets(listed) == ([contacts], [("file", f"{data_root}/c.jsonl", 25)])

    selected = BmsListContactsOperator(task_id="ids", filter="ALL", output="xcom", fields="id")
    ids = selected.execute({})
    assert datasets(selected) == ([contacts], [])

    one = BmsReadContactOperator(task_id="read", id_contact=ids[0], path="c.json")
    one.execute({})
    detail = (sandbox.url, "/v1/CRM/contacts/{id_contact}", 1)
    assert datasets(one) == ([detail], [("file", f"{data_root}/c.json", 1)])

    body = {"first_name": "Zoé", "last_name": "Canari"}
    create = BmsCreateContactOperator(task_id="create", body=lambda _: body)
    create.execute({})
    assert datasets(create) == ([], [(sandbox.url, "/v1/CRM/contacts", 1)])


@pytest.mark.usefixtures("connected", "data_root")
def test_a_task_that_read_nothing_reports_no_dataset() -> None:
    missing = BmsReadContactOperator(task_id="read", id_contact=404_040, path="c.json")
    with pytest.raises(NotFound):
        missing.execute({})
    check = BmsCheckAccessOperator(task_id="check")
    check.execute({})
    assert datasets(missing) == datasets(check) == ([], [])
