"""Endpoints, operators, scopes, the connection form and the tables of the reference agree."""

import dataclasses
import inspect
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bms.client import Client
from bms.endpoints import BY_NAME, ENDPOINTS
from bms.settings import ClientSettings
from bms_provider.hooks.connection import OWN_EXTRAS
from bms_provider.operators.base import (
    BmsListOperator,
    BmsOperator,
    BmsReadingOperator,
    BmsReadOperator,
)
from bms_provider.operators.creation import BmsCreateOperator
from bms_provider.provider_info import CONNECTION_FIELDS, RETIRED_FIELDS

STANDARD_FIELDS = {"base_url", "client_id", "secret"}
"""Settings in Airflow's own fields of a connection."""

OPERATORS = {name: f"Bms{name.title().replace('_', '')}Operator" for name in BY_NAME} | {
    "request_token": "BmsCheckAccessOperator"
}


@pytest.fixture(scope="module")
def reference(project: Path) -> SimpleNamespace:
    """The script that generates the tables of the reference."""
    return SimpleNamespace(**runpy.run_path(str(project / "scripts/reference")))


@pytest.fixture(scope="module")
def operators(reference: SimpleNamespace) -> dict[str, Any]:
    """Every operator, by its operation."""
    return reference.operator_classes()


def test_each_operation_has_its_operator(operators: dict[str, Any]) -> None:
    assert {name: kind.__name__ for name, kind in operators.items()} == OPERATORS
    assert set(operators) == set(BY_NAME)


@pytest.mark.parametrize("name", BY_NAME)
def test_the_base_class_of_an_operator_fits_its_operation(
    operators: dict[str, Any], name: str
) -> None:
    """So that creations happen at most once, and personal data goes to files."""
    kind, endpoint = operators[name], BY_NAME[name]
    verb = {"list": BmsListOperator, "read": BmsReadOperator, "create": BmsCreateOperator}
    expected = verb.get(name.partition("_")[0])
    assert kind.endpoint is endpoint
    assert issubclass(kind, BmsCreateOperator) is not endpoint.idempotent
    assert expected is None or issubclass(kind, expected)
    assert endpoint.scope is None or issubclass(kind, BmsReadingOperator | BmsCreateOperator)


def test_an_operator_that_could_repeat_a_creation_is_refused() -> None:
    with pytest.raises(TypeError, match="derive an operator of POST /v1/CRM/contacts from"):
        type("Unprotected", (BmsOperator,), {"endpoint": BY_NAME["create_contact"]})


@pytest.mark.parametrize("name", BY_NAME)
def test_an_operator_documents_and_templates_each_argument(
    operators: dict[str, Any], name: str
) -> None:
    """In its own docstring, or in that of a base class that its docstring names."""
    kind = operators[name]
    own = str(inspect.getdoc(kind))
    parents = [base for base in _ours(kind)[1:] if base.__doc__ and "__init__" in vars(base)]
    documents = [own, *(str(inspect.getdoc(base)) for base in parents)]
    documented = re.findall(
        r":param (\w+):((?:(?!:param|:return).)*)", "\n".join(documents), re.DOTALL
    )
    assert {arg for arg, _ in documented} == _arguments(kind)
    assert {arg for arg, text in documented if "(templated)" in text} == {*kind.template_fields}
    assert BY_NAME[name].path in own
    assert any(":return: to XCom:" in each for each in documents)
    shared = {BmsReadingOperator, BmsCreateOperator} & {*kind.__mro__}
    assert all(f"`{base.__name__}` describes" in own for base in shared)


def _ours(kind: type) -> list[type]:
    return [base for base in kind.__mro__ if base.__module__.startswith("bms_provider.")]


def _arguments(kind: type) -> set[str]:
    ours = [vars(base)["__init__"] for base in _ours(kind) if "__init__" in vars(base)]
    names = {name for each in ours for name in inspect.signature(each).parameters}
    return names - {"self", "kwargs"}


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "request_token"])
def test_an_operator_has_the_parameters_of_its_operation(
    operators: dict[str, Any], name: str
) -> None:
    """But for the page number, since it reads all pages; `start_date` is an argument of Airflow."""
    given = set(inspect.signature(getattr(Client, name)).parameters) - {
        "self",
        "page_number",
        "before_send",
    }
    renamed = {"start_date": "first_day", "end_date": "last_day"}
    added = {
        "bms_conn_id",
        "retry_policy",
        "path",
        "output",
        "fields",
        "max_xcom_bytes",
        "body_path",
    }
    assert {renamed.get(arg, arg) for arg in given} == _arguments(operators[name]) - added


def test_the_form_has_a_field_for_every_setting_of_the_client() -> None:
    settings = {field.name for field in dataclasses.fields(ClientSettings)}
    assert {*CONNECTION_FIELDS} == settings - STANDARD_FIELDS - RETIRED_FIELDS.keys() | OWN_EXTRAS


def test_the_form_s_defaults_are_the_client_s() -> None:
    shown = {name: field["schema"].get("default") for name, field in _fields()}
    meant = {field.name: field.default for field in dataclasses.fields(ClientSettings)}
    ours = {name: meant.get(name) for name in shown if name not in ("application_id", *OWN_EXTRAS)}
    assert {name: True if shown[name] == "true" else shown[name] for name in ours} == ours


def test_the_form_offers_the_choices_that_the_client_accepts() -> None:
    from bms.settings import SECONDS_PER_UNIT

    choices = {
        name: field["schema"]["enum"] for name, field in _fields() if "enum" in field["schema"]
    }
    assert choices == {"expires_in_unit": [*SECONDS_PER_UNIT]}


def _fields() -> list[tuple[str, Any]]:
    return list(CONNECTION_FIELDS.items())


@pytest.mark.bookkeeping
def test_the_generated_tables_are_up_to_date(project: Path) -> None:
    """In a process of its own: here, the class that a test saw refused may still be an operator."""
    command = [sys.executable, str(project / "scripts/reference"), "--check"]
    check = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert check.returncode == 0, check.stderr


def test_the_reference_lists_each_operator_with_operation_and_scope(project: Path) -> None:
    rows = _table(project, "operators")
    assert rows == [
        [f"`{OPERATORS[e.name]}`", f"`{e.method} {e.path}`", f"`{e.scope}`" if e.scope else ""]
        for e in ENDPOINTS
    ]


def test_the_reference_lists_each_field_of_the_form(project: Path) -> None:
    assert [row[0] for row in _table(project, "connection")] == [
        f"`{n}`" for n in CONNECTION_FIELDS
    ]


def _table(project: Path, name: str) -> list[list[str]]:
    text = (project / f"docs/reference/{name}.md").read_text()
    inside = text.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]
    lines = inside.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_missing_marker_deletes_no_section(reference: SimpleNamespace) -> None:
    text = "<!-- operators -->\nkeep\n<!-- connection -->\n<!-- /connection -->\n"
    with pytest.raises(ValueError, match="not enough values"):
        reference.with_tables(text, reference.REFERENCE_TABLES["operators.md"])
