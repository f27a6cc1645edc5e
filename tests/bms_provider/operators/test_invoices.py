import gzip
import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from bms.arguments import BadArgument
from bms_provider.operators.invoices import BmsListClientInvoicesOperator
from bms_sandbox.serve import Sandbox

pytestmark = pytest.mark.usefixtures("connected")


def test_the_invoices_of_the_days_are_written(sandbox: Sandbox, data_root: Path) -> None:
    """The file has both days and every digit of the amounts, and is compressed by its suffix."""
    operator = BmsListClientInvoicesOperator(
        task_id="list",
        id_entity="1",
        first_day="2026-03-02",
        last_day=date(2026, 3, 4),
        path="i.jsonl.gz",
    )
    manifest = operator.execute({})
    expected = sandbox.invoices(1, date(2026, 3, 2), date(2026, 3, 4))
    with gzip.open(data_root / "i.jsonl.gz") as file:
        rows = [json.loads(line, parse_float=Decimal, parse_int=Decimal) for line in file]
    assert manifest["rows"] == len(rows) == len(expected) > 0
    totals = {row["id_invoice"]: Decimal(row["total_incl_vat"]) for row in expected}
    assert {row["id_invoice"]: row["total_incl_vat"] for row in rows} == totals


def test_the_language_changes_the_labels_of_codes(data_root: Path) -> None:
    names = set()
    for language in ("EN", "FR"):
        BmsListClientInvoicesOperator(
            task_id="list",
            id_entity=1,
            first_day="2026-03-02",
            last_day="2026-03-31",
            language=language,
            path=f"{language}.jsonl",
        ).execute({})
        lines = (data_root / f"{language}.jsonl").read_text().splitlines()
        names.add(tuple(sorted({json.loads(line)["status_name"] for line in lines})))
    assert len(names) == 2


@pytest.mark.usefixtures("data_root")
def test_an_invalid_day_raises() -> None:
    operator = BmsListClientInvoicesOperator(
        task_id="list", id_entity=1, first_day="02/03/2026", last_day="2026-03-31", path="i.jsonl"
    )
    with pytest.raises(
        BadArgument, match="first_day takes a date without a time, for example 2026-11-21"
    ):
        operator.execute({})
