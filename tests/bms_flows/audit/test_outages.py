"""Audits while the service fails."""

from datetime import date

import pytest

from bms.errors import BmsError
from bms_flows.runtime.windows import Window
from tests.bms_flows.audit.environment import Auditor


@pytest.mark.parametrize("kind", ["malformed_json", "503"])
def test_an_outage_of_all_details_is_no_fault_of_the_records(kind: str, auditor: Auditor) -> None:
    auditor.fill(Window(date(2026, 3, 23), date(2026, 3, 23)), contacts=3)
    auditor.sandbox.set_fault(kind, "read_contact")
    with pytest.raises(BmsError, match="GET /v1/CRM/contacts/"):
        auditor.run(attempts=1)
    assert auditor.latest("contact") == ("reconciled", {})
