"""Tasks that write data of a service refuse another service."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from bms_flows.runtime.service_identity import ServiceMismatch
from bms_provider.operators.flows.checks import BmsProbeContractOperator, BmsReconcileOperator
from bms_provider.operators.flows.loads import (
    BmsLoadClientInvoicesOperator,
    BmsPlanInvoicesOperator,
    BmsSyncOperator,
)
from bms_sandbox.serve import Sandbox
from tests.bms_provider.conftest import Connect, fields_of
from tests.bms_provider.operators.flows.execution import done, plan, task_of
from tests.support.sql import scalar

DAY = {"start_date": "2026-03-02", "end_date": "2026-03-02"}
MIRROR = {"details": False, "full": False, "accept_gone": False, "entities": [1]}
CONTACTS = {**MIRROR, "filter": "ALL", "id_client": None, "is_lead": None}
DROP = "Matricule;Nom;Prénom;Entité;Date d'entrée\r\n810001;Dupré;Zoé;1;2027-01-04\r\n"


def run(**params: Any) -> AbstractContextManager[Any]:
    """Run the block in the task context of a manual run."""
    return task_of("a_dag", "manual__1", params)


@pytest.fixture(autouse=True)
def filled(
    sandbox: Sandbox,
    connected: Connect,
    warehouse_connection: None,  # noqa: ARG001
    data_root: Path,
) -> None:
    """Fill the warehouse from the sandbox, plan invoices, drop a file, reset the request counters."""
    connected(entities="1")
    with run(**CONTACTS):
        done(BmsSyncOperator, resource="contact")
    with run(**DAY, entities=[1]):
        done(BmsPlanInvoicesOperator)
    inbox = data_root / "inbox" / "employees"
    inbox.mkdir(parents=True)
    (inbox / "a.csv").write_bytes(DROP.encode("cp1252"))
    sandbox.reset_counts()


def everything(warehouse: Engine) -> str:
    """Return all rows of the tables that flows fill, without the records of a drop's run."""
    tables = (
        "step_run",
        "contact",
        "consultant",
        "employee",
        "client_invoice",
        "client_invoice_day",
        "creation",
        "contract",
        "reconciliation",
        "quarantine",
    )
    found = {
        name: scalar(warehouse, f"select json_agg(t) #>> '{{}}' from bms.{name} t")
        for name in tables
    }
    return repr(found)


WRITING: dict[str, tuple[Callable[[], object], dict[str, Any]]] = {
    "contact_sync": (lambda: done(BmsSyncOperator, resource="contact"), CONTACTS),
    "consultant_sync": (
        lambda: done(BmsSyncOperator, resource="consultant"),
        {**MIRROR, "type": "ALL", "id_client": None},
    ),
    "employee_directory": (
        lambda: done(BmsSyncOperator, resource="employee", id_entity=1),
        {**MIRROR, "employee_details": "off"},
    ),
    "plan of invoice_extraction": (lambda: done(BmsPlanInvoicesOperator), {**DAY, "entities": [1]}),
    "extract of invoice_extraction": (lambda: done(BmsLoadClientInvoicesOperator, position=0), {}),
    "reconciliation": (lambda: done(BmsReconcileOperator), DAY),
    "service_contract": (lambda: done(BmsProbeContractOperator), {}),
    "plan of employee_onboarding": (lambda: plan("employee"), {"path": "a.csv"}),
}


@pytest.mark.parametrize("change", ["host", "application id"])
def test_a_task_of_another_service_fails_before_requests_and_writes(
    change: str, sandbox: Sandbox, warehouse: Engine, connect: Callable[..., None]
) -> None:
    if change == "host":
        # The sandbox answers under both names, so that a request would be counted.
        connect(**fields_of(sandbox, entities="1") | {"host": f"{sandbox.url}/v2"})
    else:
        connect(**fields_of(sandbox, entities="1", application_id="another-application"))
    before = everything(warehouse)
    for task, (called, params) in WRITING.items():
        with run(**params), pytest.raises(ServiceMismatch, match="bms service --confirm"):
            called()
        assert sandbox.truth()["requests"] == {}, task
        if "onboarding" not in task:  # the last: its step is recorded as failed
            assert everything(warehouse) == before, task
