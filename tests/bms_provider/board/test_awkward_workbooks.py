"""Ordinary HR workbooks on the page of an inbox: without a fault, and submitted in one round."""

import re
from pathlib import Path

from tests.bms_provider.board.conftest import Visit
from tests.bms_provider.board.test_inbox import digest_of, page_of, post
from tests.support.awkward_workbooks import WORKBOOKS, calculated

COUNT = re.compile(r'<div class="(\w+)"><dt>[^<]+</dt><dd class="count[ nil]*">(?:<a[^>]+>)?(\d+)')
"""A verdict on the page, and its rows."""


def test_each_awkward_workbook_is_submitted_in_one_round(visit: Visit, data_root: Path) -> None:
    hr = visit("recruiter")
    for name, made in WORKBOOKS.items():
        # openpyxl stores no value of a formula.
        content = calculated()[name] if name == "unlabelled_total" else made()
        page = page_of(hr, content, f"{name}.xlsx")
        shown = hr.get(page).text
        # No mirror was read, so the page does not say whether the three exist.
        counts = {"correct": "0", "unchecked": "3", "create": "0"}
        assert dict(COUNT.findall(shown)) == counts, name
        assert post(hr, f"{page}/submit", digest=digest_of(shown)).status_code == 200, name
        assert (data_root / f"inbox/employees/{name}.xlsx").read_bytes() == content
