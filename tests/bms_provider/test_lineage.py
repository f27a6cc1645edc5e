"""Datasets are named as OpenLineage names them; no login is in a name."""

import pytest
from sqlalchemy import make_url

from bms_provider import lineage


@pytest.mark.parametrize(
    ("base_url", "namespace"),
    [
        ("https://bms.example.com/api/", "https://bms.example.com/api"),
        ("http://127.0.0.1:8090", "http://127.0.0.1:8090"),
        ("https://user:pass@bms.example.com:443/api", "https://bms.example.com:443/api"),
    ],
)
def test_the_service_is_its_address_without_a_login(base_url: str, namespace: str) -> None:
    assert lineage.service(base_url) == namespace


@pytest.mark.parametrize(
    ("uri", "namespace"),
    [
        ("postgresql://bms:pass@db.example.com/bms", "postgres://db.example.com:5432"),
        ("postgresql://bms@db.example.com:5433/bms", "postgres://db.example.com:5433"),
        ("postgresql://bms@/bms?host=/run/postgresql", "postgres://localhost:5432"),
    ],
)
def test_the_warehouse_is_its_server(uri: str, namespace: str) -> None:
    assert lineage.server(make_url(uri)) == namespace
