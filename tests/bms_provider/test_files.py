"""Rows and DataFrames from the manifests of operators."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bms_provider import files
from bms_provider.files import BadManifest, BadPath, read_df, read_rows
from bms_provider.operators.consultants import BmsListConsultantsOperator
from bms_provider.operators.contacts import BmsReadContactOperator
from bms_provider.operators.invoices import BmsListClientInvoicesOperator
from bms_sandbox.serve import Sandbox

pytestmark = pytest.mark.usefixtures("connected", "data_root")


def invoices(path: str = "i.jsonl.gz") -> dict[str, Any]:
    """Return the manifest of a list of invoices."""
    operator = BmsListClientInvoicesOperator(
        task_id="list", id_entity=1, first_day="2026-03-02", last_day="2026-03-06", path=path
    )
    manifest: dict[str, Any] = operator.execute({})
    return manifest


@pytest.mark.parametrize("path", ["i.jsonl", "i.jsonl.gz"])
def test_rows_have_exact_amounts_and_dates(sandbox: Sandbox, path: str) -> None:
    rows = {row["id_invoice"]: row for row in read_rows(invoices(path=path))}
    stored = sandbox.invoices(1, date(2026, 3, 2), date(2026, 3, 6))
    assert {*rows} == {each["id_invoice"] for each in stored}
    for each in stored:
        row = rows[each["id_invoice"]]
        assert row["total_incl_vat"] == Decimal(each["total_incl_vat"])
        assert row["invoice_date"] == date.fromisoformat(each["invoice_date"])


def test_a_value_of_another_type_survives_the_file(sandbox: Sandbox) -> None:
    consultant = sandbox.rows("consultants")[3]["id"]
    sandbox.edit("consultants", consultant, birth_year="unknown")
    manifest = BmsListConsultantsOperator(task_id="list", path="c.jsonl").execute({})
    rows = {row["id"]: row for row in read_rows(manifest)}
    assert rows[consultant]["birth_year"] is None
    assert rows[consultant]["_extra"] == {"birth_year": "unknown"}
    frame = read_df(manifest).set_index("id")
    assert frame["_extra"][consultant] == '{"birth_year":"unknown"}'


def test_the_manifests_of_a_mapped_operator_make_one_frame(sandbox: Sandbox) -> None:
    ids = [row["id"] for row in sandbox.rows("contacts")[:3]]
    manifests = [
        BmsReadContactOperator(task_id="read", id_contact=each, path=f"{each}.json").execute({})
        for each in ids
    ]
    assert [*read_df(iter(manifests))["id"]] == ids
    assert [row["id"] for row in read_rows(manifests)] == ids


def test_a_frame_has_the_rows_of_the_file_and_chunks_make_the_rows_of_one(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = invoices()
    whole = read_df(manifest)
    stored = sandbox.invoices(1, date(2026, 3, 2), date(2026, 3, 6))
    assert len(whole) == manifest["rows"] > 0
    assert whole["total_incl_vat"].sum() == sum(Decimal(each["total_incl_vat"]) for each in stored)
    monkeypatch.setattr(files, "CHUNK", 3)
    pd.testing.assert_frame_equal(read_df(manifest), whole)


@pytest.mark.parametrize("version", [None, 0, 2])
def test_a_manifest_of_another_version_is_refused(version: int | None) -> None:
    """As after an upgrade between the task that wrote it and the task that reads it."""
    manifest = {**invoices(), "version": version}
    text = f"has version {version}, this provider reads version 1. Run the task that wrote it again"
    with pytest.raises(BadManifest, match=text):
        read_rows(manifest)
    with pytest.raises(BadManifest, match=text):
        read_df([manifest])


def test_manifests_of_two_operations_are_refused(sandbox: Sandbox) -> None:
    contact = sandbox.rows("contacts")[0]["id"]
    one = BmsReadContactOperator(task_id="read", id_contact=contact, path="c.json").execute({})
    with pytest.raises(BadManifest, match="got list_client_invoices, read_contact"):
        read_df([one, invoices()])
    with pytest.raises(BadManifest, match="got no manifest"):
        read_df([])


@pytest.mark.parametrize("damage", ["change", "delete"])
def test_a_file_that_is_not_the_one_written_is_refused(data_root: Path, damage: str) -> None:
    manifest = invoices()
    file = data_root / "i.jsonl.gz"
    if damage == "change":
        file.write_bytes(file.read_bytes()[:-1])
    else:
        file.unlink()
    with pytest.raises(BadManifest, match=r"i\.jsonl\.gz is missing or was changed"):
        read_df(manifest)


@pytest.mark.parametrize("path", ["", "/etc/x.json", "../x.json", "a/../../x", "s3://other/x"])
def test_a_path_outside_the_data_root_is_refused(path: str) -> None:
    with pytest.raises(BadPath, match="Give a path relative to it"):
        files.below_root(path)


def test_the_path_of_a_manifest_names_its_file(data_root: Path) -> None:
    assert files.below_root(f"file://{data_root}/a/x.json").path == str(data_root / "a/x.json")
