import hashlib
import json
from pathlib import Path

import pytest

from bms.arguments import BadArgument
from bms_provider.operators.contacts import BmsListContactsOperator, BmsReadContactOperator
from bms_sandbox.serve import Sandbox

pytestmark = pytest.mark.usefixtures("connected")


def test_all_pages_are_written_in_order(sandbox: Sandbox, data_root: Path) -> None:
    operator = BmsListContactsOperator(
        task_id="list", filter="ALL", page_size="4", path="here/contacts.jsonl"
    )
    manifest = operator.execute({})

    file = data_root / "here/contacts.jsonl"
    content = file.read_bytes()
    rows = [json.loads(line) for line in content.splitlines()]
    assert [row["id"] for row in rows] == [row["id"] for row in sandbox.rows("contacts")]
    assert manifest == {
        "version": 1,
        "operation": "list_contacts",
        "time_zone": "Europe/Paris",
        "path": f"file://{file}",
        "rows": 25,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }
    assert sandbox.truth()["requests"]["list_contacts"] == {"200": 7}


def test_arguments_rendered_by_a_template_reach_the_service(
    sandbox: Sandbox, data_root: Path
) -> None:
    leads = [row["id"] for row in sandbox.rows("contacts") if row["is_lead"]]
    operator = BmsListContactsOperator(
        task_id="list", filter="ALL", is_lead="True", id_client="None", path="leads.jsonl"
    )
    operator.execute({})
    lines = (data_root / "leads.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == leads
    assert 0 < len(leads) < 25


def test_an_invalid_argument_raises_before_anything_is_sent(
    sandbox: Sandbox, data_root: Path
) -> None:
    operator = BmsListContactsOperator(task_id="list", filter="SOME", path="x.jsonl")
    with pytest.raises(BadArgument, match="filter takes ALL or ACTIVE or ASSIGNED or DELETED"):
        operator.execute({})
    assert sandbox.truth()["requests"] == {}
    assert not (data_root / "x.jsonl").exists()


def test_fields_that_the_interface_does_not_name_are_stored(
    sandbox: Sandbox, data_root: Path
) -> None:
    id_contact = sandbox.rows("contacts")[0]["id"]
    widths = []
    for extra_fields in (False, True):
        sandbox.set_dialect(extra_fields=extra_fields)
        BmsListContactsOperator(task_id="list", filter="ALL", path="x.jsonl").execute({})
        BmsReadContactOperator(task_id="read", id_contact=id_contact, path="x.json").execute({})
        [first, *_] = (data_root / "x.jsonl").read_text().splitlines()
        widths.append((len(json.loads(first)), len(json.loads((data_root / "x.json").read_text()))))
    (listed, read), (listed_more, read_more) = widths
    assert listed < listed_more
    assert read < read_more


def test_one_contact_is_written_as_one_object(sandbox: Sandbox, data_root: Path) -> None:
    id_contact = sandbox.rows("contacts")[6]["id"]
    operator = BmsReadContactOperator(task_id="read", id_contact=str(id_contact), path="c.json")
    manifest = operator.execute({})
    assert json.loads((data_root / "c.json").read_text())["id"] == id_contact
    assert manifest["rows"] == 1
    assert manifest["operation"] == "read_contact"
