"""A process that loads does not import pandas, and pandas works as usual in the same process."""

import pytest

from tests.support.interpreter import last_line

LOADS = "import bms_flows.invoices.run, sys\n"
NULLS = """
import pyarrow as pa, pandas as pd
missing = pd.Series([1.0, float("nan")]), pd.Series(["a", None], dtype=object)
print([pa.array(each).null_count for each in missing])
"""
FRAMES = """
import pyarrow as pa
from bms.dataframes import dataframe
from bms.records import ClientInvoice
frame = dataframe(ClientInvoice, [])
print(len(frame.columns) > 0, pa.table({"a": [1, None]}).to_pandas()["a"].isna().sum())
"""


def test_a_load_imports_only_what_it_needs() -> None:
    """Pyarrow alone would import pandas at the first value it sees."""
    unneeded = {
        *("alembic", "mako", "holidays", "openpyxl", "pandas", "s3fs", "gcsfs", "adlfs", "boto3"),
    }
    values = "import pyarrow as pa\npa.array([1.0, None, 'a'][:2])\n"
    assert last_line(f"{LOADS}{values}print({unneeded} & {{*sys.modules}})") == "set()"


@pytest.mark.parametrize("before", ["", LOADS])
def test_pyarrow_knows_missing_values_of_pandas(before: str) -> None:
    assert last_line(before + NULLS) == "[1, 1]"


@pytest.mark.parametrize("before", ["", LOADS])
def test_frames_are_made_as_usual(before: str) -> None:
    assert last_line(before + FRAMES) == "True 1"
