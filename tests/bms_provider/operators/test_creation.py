"""Creating operators: at most one record, and a body that appears nowhere in Airflow."""

import traceback
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from bms.errors import ConnectionFailed, Throttled
from bms_provider.operators.contacts import BmsCreateContactOperator
from bms_sandbox.serve import Sandbox
from tests.bms_provider.conftest import fields_of

CANARY = "Canari-Éternel"


pytestmark = pytest.mark.usefixtures("connected")


@pytest.fixture
def create(data_root: Path) -> BmsCreateContactOperator:
    """An operator with a body in a file."""
    data_root.mkdir()
    (data_root / "body.json").write_text(f'{{"first_name": "Zoé", "last_name": "{CANARY}"}}')
    return BmsCreateContactOperator(task_id="create", body_path="body.json")


def created(sandbox: Sandbox) -> int:
    """Return the number of created records."""
    return sum(row["last_name"] == CANARY for row in sandbox.rows("contacts"))


def test_a_refused_creation_fails_the_task_for_good(
    sandbox: Sandbox, create: BmsCreateContactOperator
) -> None:
    sandbox.set_dialect(granted_scopes=["read:contact"])
    with pytest.raises(AirflowFailException, match=r"MissingScope: .*write:contact"):
        create.execute({})
    assert created(sandbox) == 0


@pytest.mark.usefixtures("data_root")
def test_a_creation_that_was_not_sent_can_be_retried(
    connect: Any, create: BmsCreateContactOperator
) -> None:
    extra = {"application_id": "app"}
    connect(host="http://127.0.0.1:9", login="id", password="secret", extra=extra)
    with pytest.raises(ConnectionFailed):
        create.execute({})


def test_an_unusable_certificate_file_is_reported_as_such(
    sandbox: Sandbox, connect: Any, create: BmsCreateContactOperator
) -> None:
    connect(**fields_of(sandbox, cert="/absent.pem") | {"host": "https://127.0.0.1:9"})
    named = "^InvalidTlsFile: cert names no usable PEM file"
    with pytest.raises(AirflowFailException, match=named):
        create.execute({})


def test_a_throttled_creation_can_be_retried_only_if_the_connection_allows_it(
    sandbox: Sandbox, connected: Any, create: BmsCreateContactOperator
) -> None:
    sandbox.set_fault("429", operation="create_contact", retry_after=0)
    with pytest.raises(AirflowFailException, match="AmbiguousWrite"):
        create.execute({})
    connected(create_refused_by_429=True)
    again = BmsCreateContactOperator(task_id="again", body_path="body.json")
    with pytest.raises(Throttled):
        again.execute({})
    assert created(sandbox) == 0


def test_a_task_timeout_during_a_creation_fails_the_task_for_good(
    sandbox: Sandbox, create: BmsCreateContactOperator
) -> None:
    """The request was sent: the record may exist."""
    sandbox.set_latency(5)
    create.execution_timeout = timedelta(seconds=0.3)
    with pytest.raises(AirflowFailException, match="TimeoutError during the creation"):
        create.execute({})


@pytest.mark.usefixtures("create")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("absent.json", "BadBody: body_path names no file below BMS_DATA_ROOT"),
        ("../body.json", "BadPath: .* leads out of BMS_DATA_ROOT"),
        ("broken.json", "BadBody: body_path: the file must hold one JSON object"),
    ],
)
def test_an_unreadable_body_file_is_reported_without_its_content(
    sandbox: Sandbox, data_root: Path, path: str, text: str
) -> None:
    (data_root / "broken.json").write_text(f'{{"last_name": "{CANARY}')
    bad = BmsCreateContactOperator(task_id="bad", body_path=path)
    with pytest.raises(AirflowFailException, match=text) as raised:
        bad.execute({})
    assert CANARY not in "".join(traceback.format_exception(raised.value))
    assert sandbox.truth()["requests"] == {}


def test_an_unexpected_error_is_reported_by_its_type_only(
    create: BmsCreateContactOperator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text and traceback may quote the body."""

    async def fail(_client: object, body: object) -> None:
        raise RuntimeError(body)

    monkeypatch.setattr(create, "create", fail)
    with pytest.raises(AirflowFailException, match="RuntimeError during the creation") as raised:
        create.execute({})
    assert CANARY not in "".join(traceback.format_exception(raised.value))


def test_retries_of_default_args_do_not_apply_to_a_creation() -> None:
    """If a worker dies, only `retries` decides whether Airflow runs the task again."""
    with DAG("d", schedule=None, default_args={"retries": 3}):
        plain = BmsCreateContactOperator(task_id="plain", body_path="b.json")
        mapped = BmsCreateContactOperator.partial(task_id="mapped").expand(body_path=["b.json"])
        asked = BmsCreateContactOperator(task_id="asked", body_path="b.json", retries=2)
        asked_mapped = BmsCreateContactOperator.partial(task_id="too", retries=2).expand(
            body_path=["b.json"]
        )
    assert [plain.retries, mapped.retries, asked.retries, asked_mapped.retries] == [0, 0, 2, 2]


def test_the_serialized_operator_has_no_body(create: BmsCreateContactOperator) -> None:
    from airflow.serialization.serialized_objects import OperatorSerialization

    assert create.template_fields == ("bms_conn_id", "body_path")
    assert CANARY not in repr(OperatorSerialization.serialize_operator(create))
    assert CANARY not in repr(vars(create))


def with_body(body: Any, **given: Any) -> BmsCreateContactOperator:
    return BmsCreateContactOperator(task_id="create", body=body, **given)


def context(map_index: int = -1, **params: Any) -> Any:
    """Return the parts of Airflow's context that the operator uses."""
    return {"ti": SimpleNamespace(map_index=map_index), "params": params}


@pytest.mark.parametrize(
    "body",
    [
        {"first_name": "Zoé", "last_name": "{{ params.name }}"},
        lambda context: {"first_name": "Zoé", "last_name": context["params"]["name"]},
    ],
    ids=["rendered dictionary", "callable"],
)
def test_a_body_is_evaluated_while_the_task_runs_and_not_stored(
    sandbox: Sandbox, body: Any
) -> None:
    from airflow.serialization.serialized_objects import OperatorSerialization

    create = with_body(body)
    assert {*create.execute(context(name=CANARY))} == {"id"}
    assert created(sandbox) == 1
    assert "body" not in create.template_fields
    assert CANARY not in repr(OperatorSerialization.serialize_operator(create))
    assert CANARY not in repr(vars(create))


def test_a_dictionary_is_sent_without_a_context_of_airflow(sandbox: Sandbox) -> None:
    """As in a data engineer's own test."""
    with_body({"first_name": "Zoé", "last_name": CANARY}).execute({})
    assert created(sandbox) == 1


def test_the_data_of_a_callable_or_a_mapped_body_is_no_template(sandbox: Sandbox) -> None:
    """Text such as a name must reach the service unchanged."""
    text = "{{ params.name }}"
    body = {"first_name": "Zoé", "last_name": text}
    with_body(lambda _: body).execute(context(name=CANARY))
    with_body(body).execute(context(map_index=0, name=CANARY))
    assert [row["last_name"] for row in sandbox.rows("contacts")].count(text) == 2


def test_a_callable_may_skip_the_task(sandbox: Sandbox) -> None:
    def skip(_context: Any) -> Any:
        raise AirflowSkipException("nothing to create")

    with pytest.raises(AirflowSkipException):
        with_body(skip).execute(context())
    assert sandbox.truth()["requests"] == {}


def raise_with_body(_context: Any) -> Any:
    raise KeyError(CANARY)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (raise_with_body, r"KeyError in raise_with_body, line \d+; nothing was sent"),
        (lambda _: [CANARY], "it is no dictionary but list; nothing was sent"),
        (lambda _: {"last_name": object()}, "JSON has no object; nothing was sent"),
        ({"last_name": f"{{{{ params.{CANARY.replace('-', '_')}( }}}}"}, "TemplateSyntaxError"),
    ],
    ids=["error of the callable", "no dictionary", "no JSON", "broken template"],
)
def test_a_body_that_cannot_be_evaluated_is_reported_without_its_content(
    sandbox: Sandbox, body: Any, text: str
) -> None:
    with pytest.raises(AirflowFailException, match=f"BadBody: body could not .*{text}") as raised:
        with_body(body).execute(context())
    assert "Canari" not in "".join(traceback.format_exception(raised.value))
    assert sandbox.truth()["requests"] == {}


@pytest.mark.parametrize("given", [{}, {"body": {}, "body_path": "b.json"}])
def test_an_operator_takes_either_body_or_body_path(given: Any) -> None:
    with pytest.raises(ValueError, match="give either body or body_path"):
        BmsCreateContactOperator(task_id="create", **given)


def test_a_callable_without_an_argument_is_refused_when_the_dag_is_parsed() -> None:
    with pytest.raises(ValueError, match="body: the callable takes one argument, the context"):
        with_body(lambda: {"last_name": "Canary"})


def test_the_task_of_an_xcomarg_is_upstream() -> None:
    with DAG("d", schedule=None):
        bodies: Any = EmptyOperator(task_id="bodies").output
        plain = with_body({"last_name": bodies["name"]})
        mapped = BmsCreateContactOperator.partial(task_id="mapped").expand(body=bodies)
        assert plain.upstream_task_ids == mapped.upstream_task_ids == {"bodies"}
        with pytest.raises(ValueError, match=r"give it to expand\(\)"):
            BmsCreateContactOperator.partial(task_id="partial", body=bodies)


def test_a_body_that_airflow_would_store_with_the_dag_is_refused() -> None:
    body = {"last_name": "Lefèvre"}
    whole = BmsCreateContactOperator.partial
    by_default = DAG("d", schedule=None, default_args={"body": body})
    for mapped in (
        lambda: BmsCreateContactOperator(task_id="t", dag=by_default),
        lambda: whole(task_id="t", dag=by_default),
        lambda: whole(task_id="t", body=body),
        lambda: whole(task_id="t").expand(body=[body]),
        lambda: whole(task_id="t").expand_kwargs([{"body": body}]),
    ):
        with pytest.raises(ValueError, match="takes no literal body") as refused:
            mapped()
        assert "Lefèvre" not in str(refused.value)
