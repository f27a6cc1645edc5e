"""DAGs of mirrors that a description makes."""

from dataclasses import replace

import pytest

from bms_flows.catalog import MIRRORS
from bms_provider import mirror_flow
from bms_warehouse.resources import CONSULTANT

DETAILS = {"details", "full"}


def test_the_dag_of_a_resource_with_details_reads_and_offers_them() -> None:
    dag = mirror_flow.mirror("consultant_sync")
    assert dag.params.keys() > DETAILS
    assert dag.task_dict["check_access"].requires == ["list_consultants", "read_consultant"]
    assert "after the detail confirms it" in str(dag.doc_md)


def test_the_dag_of_a_listed_resource_requires_and_offers_no_details(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(MIRRORS, "consultant_sync", replace(CONSULTANT, has_detail=False))
    dag = mirror_flow.mirror("consultant_sync")
    assert dag.params.keys() & DETAILS == set()
    assert "detail" not in str(dag.params["accept_gone"])
    assert dag.task_dict["check_access"].requires == ["list_consultants"]
    assert "the service has no detail of a consultant" in str(dag.doc_md)
