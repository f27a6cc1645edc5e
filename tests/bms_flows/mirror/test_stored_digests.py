"""Digests of rows, as warehouses have stored them: a change would write a version of every row."""

import hashlib
from typing import Any

import msgspec
import pytest

from bms.records import ClientInvoice, Record, described
from bms_flows.invoices.rows import Reading, RowReader
from bms_flows.mirror.resources import MIRRORED
from bms_flows.mirror.rows import (
    DetailItem,
    ListItem,
    ListState,
    as_lines,
    detailed_rows,
    digest_of,
    listed_rows,
    private_rows,
)
from bms_flows.runtime.columns import TypedRecords

ZONE = "Europe/Paris"
STORED = {
    "contact": [
        "a7cc5f322c5d13bf4887f28d5e065e4c",
        "9571f096cf883ca455447b17d0500cff",
        "9571f096cf883ca455447b17d0500cffe31b31404788a62d595d92732fd8c01b",
    ],
    "consultant": [
        "99f201f40a33e1f5ec88daf8f94fa37d",
        "7abc6e47b4001368228ed65a3ad8999f",
        "7abc6e47b4001368228ed65a3ad8999f446ba6a13669859a9236b5932a6e69cf",
    ],
    "employee": [
        "41a3ee991bc052901ef2c54372aec2de",
        "dc367a5721a64d13a84289ef0fb4ae42",
        "88a312c8725a9c20545f81cbe5352151fc24b78fe152c8ad245d110517b295f2",
        "16f433be544b64a2c54aeee65d5bea84",
    ],
    "client_invoice": [
        "f57cf16bd15cdb4eb06a7775861b771c",
    ],
}


def sample(record: type[Record]) -> Any:
    """Return a record with a value in every field."""
    values: dict[str, Any] = {}
    for name, field in described(record).items():
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:3])
        values[name] = {
            "integer": number,
            "boolean": bool(number % 2),
            "amount": f"{number}.5",
            "day": f"2026-02-{number % 28 + 1:02d}",
            "timestamp": f"2026-01-{number % 28 + 1:02d}T10:00:00Z",
            "text": f"{name} é",
            "nested": [number] if name == "domains" else [{"id": number}],
        }[field.kind]
    return msgspec.convert(values, record)


def hashes(batch: TypedRecords) -> str:
    [one] = batch.rows.column("_row_hash").to_pylist()
    return str(one.hex())


@pytest.mark.parametrize("name", MIRRORED)
def test_a_mirrored_row_has_the_digests_that_warehouses_store(name: str) -> None:
    resource = MIRRORED[name]
    item, detail = sample(resource.item), sample(resource.detail)
    flags = (True,) * len(resource.flags)
    state = ListState(b"", None, flags, deleted=False)
    details = [DetailItem(detail, state, {"new": 1})]
    [line] = as_lines([item])
    found = [
        digest_of(line, {"new": 1}, b"").hex(),
        hashes(listed_rows(resource, [ListItem(item, state)], ZONE, 7)),
        hashes(detailed_rows(resource, details, ZONE, 7)),
    ]
    if resource.private_fields:
        found.append(hashes(private_rows(resource, details, ZONE)))
    assert found == STORED[name]


def test_an_invoice_has_the_digest_that_warehouses_store() -> None:
    body = msgspec.json.Encoder(decimal_format="number").encode([sample(ClientInvoice)])
    reader = RowReader(Reading(7, ZONE, "invoice_date"))
    for response in (reader.responses.read(body), reader.responses.records(body)):
        [digest] = reader.read(response).table.column("_row_hash").to_pylist()
        assert [digest.hex()] == STORED["client_invoice"]
