import json
import re
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from bms import dataframes
from bms.dataframes import InexactValue, dataframe
from bms.decoding import RecordReader
from bms.endpoints import BY_NAME, BY_OPERATION
from bms.records import described
from bms.typed_rows import typed_rows

INVOICE = (
    '{"id_invoice": 1, "total_excl_vat": %s, "total_vat": 0, "total_incl_vat": 0, "total_due": 0%s}'
)


def frame(operation: str, *rows: str) -> pd.DataFrame:
    record = BY_OPERATION[operation]
    read = RecordReader(BY_NAME[operation], record).rows(f"[{','.join(rows)}]".encode())
    read.require_all()
    return dataframe(record, typed_rows(read, record, "Europe/Paris"))


def documented() -> dict[str, str]:
    """Return the dtype of each kind of field in the table of the module's documentation."""
    table = re.findall(r"^\| (.+?) \| `(.+?)`", str(dataframes.__doc__), re.MULTILINE)
    return dict(table)


def test_the_documented_dtypes_are_those_of_the_columns() -> None:
    dtypes = {
        "identifiers and other integers": "id_client",
        "booleans": "canceled",
        "amounts and rates": "total_due",
        "days": "due_date",
        "timestamps (`..._on`)": "created_on",
        "codes and their names": "status",
        "other texts": "client_name",
        "`_extra`: unknown fields, and fields of another type, as JSON": "_extra",
    }
    invoices = frame("list_client_invoices", INVOICE % ("1.50", ""))
    found = {kind: str(invoices.dtypes[column]) for kind, column in dtypes.items()}
    lists = "lists (`domains`, `skills`, `languages`)"
    found[lists] = str(frame("list_consultants", '{"id": 1}').dtypes["skills"])
    assert found == documented()


@pytest.mark.parametrize("operation", BY_OPERATION)
def test_an_empty_frame_has_the_columns_and_dtypes_of_a_full_one(operation: str) -> None:
    row = {**json.loads(INVOICE % (1, "")), "guid_employee": "g", "id": 1}
    names = described(BY_OPERATION[operation])
    full = frame(operation, json.dumps({name: row[name] for name in row if name in names}))
    empty = frame(operation)
    assert [*empty.columns] == [*full.columns] == [*names, "_extra"]
    assert {name: str(dtype) for name, dtype in empty.dtypes.items()} == {
        name: str(dtype) for name, dtype in full.dtypes.items()
    }
    codes = [name for name, dtype in full.dtypes.items() if dtype == "category"]
    assert pa.Table.from_pandas(empty[codes]).schema == pa.Table.from_pandas(full[codes]).schema


def test_amounts_are_exact() -> None:
    cents = ["0.10", "0.20", "1234567890123456789.123456789", "-0.000000001"]
    cents += ["0e99999999", "-0e-99999999"]
    invoices = frame("list_client_invoices", *(INVOICE % (each, "") for each in cents))
    assert [*invoices["total_excl_vat"]] == [Decimal(each) for each in cents]
    assert invoices["total_excl_vat"].head(2).sum() == Decimal("0.3")
    assert invoices["total_excl_vat"].sum() == sum(map(Decimal, cents))


def test_the_noise_of_binary_numbers_is_rounded() -> None:
    due = frame("list_client_invoices", INVOICE % (0.1 + 0.2, ""))["total_excl_vat"]
    assert [*due] == [Decimal("0.3")]


@pytest.mark.parametrize(
    "amount",
    [
        *("0.1234567891", "123456789012345678901234567890", "1e99999", "1e-99999"),
        *("1e99999999", "-1e-99999999"),  # Arrow would write out all digits
    ],
)
def test_an_amount_that_does_not_fit_raises_and_is_not_quoted(amount: str) -> None:
    rows = [INVOICE % (1, ""), INVOICE % (amount, "")]
    with pytest.raises(
        InexactValue, match="row 1: total_excl_vat does not fit decimal128"
    ) as raised:
        frame("list_client_invoices", *rows)
    assert amount not in str(raised.value)


def test_dates_timestamps_and_missing_values() -> None:
    dates = ', "invoice_date": "2026-03-02", "created_on": "2026-03-29T03:30:00"'
    invoices = frame("list_client_invoices", INVOICE % (1, dates), INVOICE % (1, ""))
    assert invoices["invoice_date"][0] == pd.Timestamp(2026, 3, 2)
    assert invoices["created_on"][0] == pd.Timestamp("2026-03-29T01:30:00Z")
    assert invoices.iloc[1].drop(["_extra"]).isna().sum() == len(invoices.columns) - 6


def test_codes_are_categories() -> None:
    rows = [INVOICE % (1, f', "status": "{status}"') for status in ("PAID", "OPEN", "PAID")]
    status = frame("list_client_invoices", *rows)["status"]
    assert [*status.cat.categories] == ["OPEN", "PAID"]
    assert [*status] == ["PAID", "OPEN", "PAID"]


def test_extra_and_lists() -> None:
    consultants = frame(
        "list_consultants",
        '{"id": 1, "skills": [{"id": 3, "level": 2}], "rate": 612.50, "grade": 1.10}',
        '{"id": 2, "birth_year": "unknown"}',
        '{"id": 3}',
    )
    assert consultants["skills"][0] == [{"id": 3, "level": 2}]
    assert consultants["skills"][1] is None
    assert consultants["_extra"][0] == '{"grade":1.10}'
    assert consultants["_extra"][1] == '{"birth_year":"unknown"}'
    assert consultants["_extra"].isna()[2]


def test_batches_make_the_frame_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows() -> list[str]:
        statuses = ("PAID", "OPEN", "LATE")
        return [INVOICE % (f"{n}.10", f', "status": "{statuses[n % 3]}"') for n in range(7)]

    whole = frame("list_client_invoices", *rows())
    monkeypatch.setattr(dataframes, "BATCH", 3)
    pd.testing.assert_frame_equal(frame("list_client_invoices", *rows()), whole)


def test_every_code_and_its_label_is_a_category() -> None:
    fields = [each for record in BY_OPERATION.values() for each in described(record).values()]
    assert {each.kind for each in fields if each.category} == {"text"}
    texts = {each.name: each.category for each in fields if each.kind == "text"}
    codes = {name for name in texts if name.endswith("_code")} - {"postal_code"}
    assert {name for name in codes | {"status_name", "country"} if not texts[name]} == set()
