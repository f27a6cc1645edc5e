"""Endpoints, operators, scopes, the form and the README's tables say the same."""

import dataclasses
import inspect
import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bms.client import Client
from bms.endpoints import BY_NAME, ENDPOINTS
from bms.settings import Settings
from bms_provider.hooks.connection import OWN_EXTRAS
from bms_provider.operators.base import BmsFileOperator, BmsListOperator, BmsReadOperator
from bms_provider.operators.creation import BmsCreateOperator
from bms_provider.provider_info import CONNECTION_FIELDS

STANDARD_FIELDS = {"base_url", "client_id", "secret"}
"""Settings that stand in Airflow's own fields of a connection."""

OPERATORS = {
    "request_token": "BmsCheckAccessOperator",
    "create_employee": "BmsCreateEmployeeOperator",
    "list_employees": "BmsListEmployeesOperator",
    "read_employee": "BmsReadEmployeeOperator",
    "list_client_invoices": "BmsListClientInvoicesOperator",
    "list_contacts": "BmsListContactsOperator",
    "read_contact": "BmsReadContactOperator",
    "create_contact": "BmsCreateContactOperator",
    "list_consultants": "BmsListConsultantsOperator",
    "read_consultant": "BmsReadConsultantOperator",
    "create_consultant": "BmsCreateConsultantOperator",
}


@pytest.fixture(scope="module")
def readme_tables(project: Path) -> SimpleNamespace:
    """The script that writes the README's tables."""
    return SimpleNamespace(**runpy.run_path(str(project / "scripts/readme_tables")))


@pytest.fixture(scope="module")
def operators(readme_tables: SimpleNamespace) -> dict[str, Any]:
    """Every operator by the operation it serves."""
    return readme_tables.operator_classes()  # type: ignore[no-any-return]  # a script's function


def test_each_operation_has_its_operator(operators: dict[str, Any]) -> None:
    assert {name: kind.__name__ for name, kind in operators.items()} == OPERATORS
    assert set(operators) == set(BY_NAME)


@pytest.mark.parametrize("name", BY_NAME)
def test_an_operator_is_of_its_operation_s_kind(operators: dict[str, Any], name: str) -> None:
    """Creates must not come twice, lists and records go to files; the token goes nowhere."""
    kind, endpoint = operators[name], BY_NAME[name]
    verb = {"list": BmsListOperator, "read": BmsReadOperator, "create": BmsCreateOperator}
    expected = verb.get(name.partition("_")[0])
    assert kind.endpoint is endpoint
    assert issubclass(kind, BmsCreateOperator) is not endpoint.safe
    assert expected is None or issubclass(kind, expected)
    assert endpoint.scope is None or issubclass(kind, BmsFileOperator | BmsCreateOperator)


@pytest.mark.parametrize("name", BY_NAME)
def test_an_operator_documents_and_templates_each_argument(
    operators: dict[str, Any], name: str
) -> None:
    kind = operators[name]
    document = inspect.getdoc(kind)
    assert document is not None
    own = [arg for arg in _arguments(kind) if arg != "retry_policy"]
    documented = re.findall(r":param (\w+):((?:(?!:param|:return).)*)", document, re.DOTALL)
    assert {arg for arg, _ in documented} == {*own}
    assert {arg for arg, text in documented if "(templated)" in text} == {*kind.template_fields}
    assert BY_NAME[name].path in document
    assert ":return: to XCom:" in document


def _arguments(kind: type) -> set[str]:
    ours = [base for base in kind.__mro__ if base.__module__.startswith("bms_provider.")]
    signatures = [inspect.signature(vars(b)["__init__"]) for b in ours if "__init__" in vars(b)]
    names = {name for each in signatures for name in each.parameters}
    return names - {"self", "kwargs"}


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "request_token"])
def test_an_operator_takes_what_the_operation_takes(operators: dict[str, Any], name: str) -> None:
    """All pages are read, so that none is asked for by its number; Airflow owns `start_date`."""
    given = set(inspect.signature(getattr(Client, name)).parameters) - {
        "self",
        "page_number",
        "before_send",
    }
    renamed = {"start_date": "first_day", "end_date": "last_day", "body": "body_path"}
    ours = _arguments(operators[name]) - {"bms_conn_id", "retry_policy", "path"}
    assert {renamed.get(arg, arg) for arg in given} == ours


def test_the_form_asks_for_every_setting_of_the_client() -> None:
    settings = {field.name for field in dataclasses.fields(Settings)}
    assert {*CONNECTION_FIELDS} == settings - STANDARD_FIELDS | OWN_EXTRAS


def test_the_form_s_defaults_are_the_client_s() -> None:
    shown = {name: field["schema"].get("default") for name, field in _fields()}
    meant = {field.name: field.default for field in dataclasses.fields(Settings)}
    ours = {name: meant.get(name) for name in shown if name not in ("application_id", *OWN_EXTRAS)}
    assert {name: True if shown[name] == "true" else shown[name] for name in ours} == ours


def test_the_form_offers_the_choices_that_the_client_takes() -> None:
    from bms.settings import SECONDS_PER_UNIT

    choices = {
        name: field["schema"]["enum"] for name, field in _fields() if "enum" in field["schema"]
    }
    assert choices == {"expires_in_unit": [*SECONDS_PER_UNIT]}


def _fields() -> list[tuple[str, Any]]:
    return list(CONNECTION_FIELDS.items())


def test_the_readme_s_tables_are_up_to_date(readme_tables: SimpleNamespace) -> None:
    assert readme_tables.main(["--check"]) == 0, "run .venv/bin/python scripts/readme_tables"


def test_the_readme_names_each_operator_with_operation_and_scope(project: Path) -> None:
    rows = _table(project, "operators")
    assert rows == [
        [f"`{OPERATORS[e.name]}`", f"`{e.method} {e.path}`", f"`{e.scope}`" if e.scope else ""]
        for e in ENDPOINTS
    ]


def test_the_readme_names_each_field_of_the_form(project: Path) -> None:
    assert [row[0] for row in _table(project, "connection")] == [
        f"`{n}`" for n in CONNECTION_FIELDS
    ]


def _table(project: Path, name: str) -> list[list[str]]:
    text = (project / "README.md").read_text()
    inside = text.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]
    lines = inside.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_missing_mark_does_not_swallow_a_section(readme_tables: SimpleNamespace) -> None:
    text = "<!-- operators -->\nkeep\n<!-- connection -->\n<!-- /connection -->\n"
    with pytest.raises(ValueError, match="not enough values"):
        readme_tables.with_tables(text)
