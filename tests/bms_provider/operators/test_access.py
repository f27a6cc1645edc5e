import json

import pytest

from bms.endpoints import ENDPOINTS
from bms.errors import MissingScope
from bms_provider.operators.access import BmsCheckAccessOperator
from bms_sandbox.serve import Sandbox

pytestmark = pytest.mark.usefixtures("connected")


def test_access_returns_scopes_and_validity_and_never_the_token(sandbox: Sandbox) -> None:
    access = BmsCheckAccessOperator(task_id="check").execute({})
    assert access["scopes"] == sorted({e.scope for e in ENDPOINTS if e.scope})
    assert access["missing"] == []
    assert access["expires_in_s"] == pytest.approx(3600, abs=60)
    assert set(access) == {"scopes", "missing", "expires_in_s"}
    assert "eyJ" not in json.dumps(access)
    assert sandbox.truth()["requests"] == {"token": {"200": 1}}


def test_a_token_without_the_required_scopes_fails_once_and_names_all_of_them(
    sandbox: Sandbox,
) -> None:
    sandbox.set_dialect(granted_scopes=["read:contact"])
    required = ["list_contacts", "list_consultants", "read_consultant", "list_employees"]
    check = BmsCheckAccessOperator(task_id="check", requires=iter(required))
    with pytest.raises(MissingScope, match="needs the scope read:consultant, read:employee") as no:
        check.execute({})
    assert not no.value.retriable
    assert sandbox.truth()["requests"] == {"token": {"200": 1}}


def test_required_operations_pass_if_scopes_are_granted_or_not_reported(sandbox: Sandbox) -> None:
    check = BmsCheckAccessOperator(task_id="check", requires=["list_contacts", "read_contact"])
    assert check.execute({})["missing"] == []
    sandbox.set_dialect(scope_shape="missing")
    access = check.execute({})
    assert (access["scopes"], access["missing"]) == (None, None)


def test_an_unknown_operation_is_refused_when_the_dag_is_parsed() -> None:
    with pytest.raises(ValueError, match="no operation list_everything; it has request_token, "):
        BmsCheckAccessOperator(task_id="check", requires=["list_everything"])
