"""Ordinary HR workbooks on the page of an inbox: without a fault, and submitted in one round."""

import re
from pathlib import Path

import pytest

from tests.bms_provider.board.conftest import Visit
from tests.bms_provider.board.test_inbox import digest_of, page_of, post
from tests.support.awkward_workbooks import WORKBOOKS, calculated

COUNT = re.compile(r'<div class="(\w+)"><dt>[^<]+</dt><dd class="count[ nil]*">(?:<a[^>]+>)?(\d+)')
"""A verdict on the page, and its rows."""


@pytest.mark.parametrize("name", WORKBOOKS)
def test_an_awkward_workbook_is_submitted_in_one_round(
    name: str, visit: Visit, data_root: Path
) -> None:
    content, hr = WORKBOOKS[name](), visit("recruiter")
    if name == "unlabelled_total":  # openpyxl stores no value of a formula
        content = calculated()[name]
    page = page_of(hr, content, f"{name}.xlsx")
    shown = hr.get(page).text
    # No mirror was read, so the page does not say whether the three exist.
    assert dict(COUNT.findall(shown)) == {"correct": "0", "unchecked": "3", "create": "0"}
    assert post(hr, f"{page}/submit", digest=digest_of(shown)).status_code == 200
    assert (data_root / f"inbox/employees/{name}.xlsx").read_bytes() == content
