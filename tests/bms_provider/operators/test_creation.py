import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException

from bms.errors import ConnectionFailed, Throttled
from bms_provider.operators.contacts import BmsCreateContactOperator
from bms_sandbox.serve import Sandbox

CANARY = "Canari-Éternel"


pytestmark = pytest.mark.usefixtures("connected")


@pytest.fixture
def create(data_root: Path) -> BmsCreateContactOperator:
    """An operator with a body at hand."""
    data_root.mkdir()
    (data_root / "body.json").write_text(f'{{"first_name": "Zoé", "last_name": "{CANARY}"}}')
    return BmsCreateContactOperator(task_id="create", body_path="body.json")


def created(sandbox: Sandbox) -> int:
    return sum(row["last_name"] == CANARY for row in sandbox.rows("contacts"))


@pytest.mark.parametrize("fault", ["commit_then_500", "commit_then_lose_reply"])
def test_a_create_in_doubt_ends_for_good(
    sandbox: Sandbox, create: BmsCreateContactOperator, fault: str
) -> None:
    """Airflow must not repeat what may have happened, however many retries are allowed."""
    sandbox.set_fault(fault, operation="create_contact")
    with pytest.raises(AirflowFailException, match="AmbiguousWrite: POST /v1/CRM/contacts"):
        create.execute({})
    assert created(sandbox) == 1


def test_a_refused_create_ends_for_good(sandbox: Sandbox, create: BmsCreateContactOperator) -> None:
    sandbox.set_dialect(granted_scopes=["read:contact"])
    with pytest.raises(AirflowFailException, match=r"MissingScope: .*write:contact"):
        create.execute({})
    assert created(sandbox) == 0


@pytest.mark.usefixtures("data_root")
def test_a_create_that_surely_was_not_sent_may_be_tried_again(
    connect: Any, create: BmsCreateContactOperator
) -> None:
    connect(
        host="http://127.0.0.1:9",
        login="id",
        password="secret",
        extra={"application_id": "app", "attempts": 1},
    )
    with pytest.raises(ConnectionFailed):
        create.execute({})


@pytest.mark.parametrize("setting", ["verify", "cert"])
@pytest.mark.parametrize("content", [None, CANARY])
def test_a_file_of_tls_that_can_t_be_used_is_not_taken_for_the_body_nor_for_a_doubt(
    connect: Any,
    create: BmsCreateContactOperator,
    data_root: Path,
    setting: str,
    content: str | None,
) -> None:
    path = data_root / "tls.pem"
    if content:
        path.write_text(content)
    connect(
        host="https://127.0.0.1:9",
        login="id",
        password="secret",
        extra={"application_id": "app", setting: str(path)},
    )
    with pytest.raises(AirflowFailException, match=f"^BadTlsFile: {setting} names no PEM file"):
        create.execute({})


def test_a_throttled_create_may_be_tried_again_only_where_that_is_known(
    sandbox: Sandbox, connected: Any, create: BmsCreateContactOperator
) -> None:
    sandbox.set_fault("429", operation="create_contact")
    with pytest.raises(AirflowFailException, match="AmbiguousWrite"):
        create.execute({})
    connected(create_refused_by_429=True, attempts=1)
    again = BmsCreateContactOperator(task_id="again", body_path="body.json")
    with pytest.raises(Throttled):
        again.execute({})
    assert created(sandbox) == 0


def test_a_task_that_times_out_in_a_create_ends_for_good(
    sandbox: Sandbox, create: BmsCreateContactOperator
) -> None:
    """Airflow's own time limit strikes after the request was sent: the record may be there."""
    sandbox.set_latency(5)
    create.execution_timeout = timedelta(seconds=0.3)
    with pytest.raises(AirflowFailException, match="TimeoutError during the creation"):
        create.execute({})


@pytest.mark.usefixtures("create")
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("absent.json", "body_path: there is no such file"),
        ("../body.json", "BadPath: .* leads out of BMS_DATA_ROOT"),
        ("broken.json", "BadBody: body_path: the file takes one JSON object"),
    ],
)
def test_a_body_that_is_none_is_told_without_quoting_it(
    sandbox: Sandbox, data_root: Path, path: str, said: str
) -> None:
    (data_root / "broken.json").write_text(f'{{"last_name": "{CANARY}')
    bad = BmsCreateContactOperator(task_id="bad", body_path=path)
    with pytest.raises(AirflowFailException, match=said) as raised:
        bad.execute({})
    assert CANARY not in "".join(traceback.format_exception(raised.value))
    assert sandbox.truth()["requests"] == {}


def test_a_foreign_error_is_told_by_its_kind_only(
    create: BmsCreateContactOperator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text may quote the body, so may its traceback."""

    async def fail(_client: object, body: object) -> None:
        raise RuntimeError(body)

    monkeypatch.setattr(create, "create", fail)
    with pytest.raises(AirflowFailException, match="RuntimeError during the creation") as raised:
        create.execute({})
    assert CANARY not in "".join(traceback.format_exception(raised.value))


def test_retries_of_default_args_do_not_reach_a_create() -> None:
    """A worker's death raises nothing; then only `retries` decides whether Airflow tries again."""
    with DAG("d", schedule=None, default_args={"retries": 3}):
        plain = BmsCreateContactOperator(task_id="plain", body_path="b.json")
        mapped = BmsCreateContactOperator.partial(task_id="mapped").expand(body_path=["b.json"])
        asked = BmsCreateContactOperator(task_id="asked", body_path="b.json", retries=2)
        asked_mapped = BmsCreateContactOperator.partial(task_id="too", retries=2).expand(
            body_path=["b.json"]
        )
    assert [plain.retries, mapped.retries, asked.retries, asked_mapped.retries] == [0, 0, 2, 2]


def test_what_airflow_stores_of_a_create_has_no_body(
    create: BmsCreateContactOperator,
) -> None:
    from airflow.serialization.serialized_objects import OperatorSerialization

    assert create.template_fields == ("bms_conn_id", "body_path")
    assert CANARY not in repr(OperatorSerialization.serialize_operator(create))
    assert CANARY not in repr(vars(create))
