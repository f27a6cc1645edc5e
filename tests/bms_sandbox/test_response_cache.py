"""Cached responses are never stale."""

from collections.abc import Iterator
from datetime import date

import pytest

from bms_sandbox.errors import Reply
from bms_sandbox.response_cache import ResponseCache
from bms_sandbox.serve import running
from tests.bms_sandbox.caller import Caller

DAY = {"id_entity": 1, "start_date": "2026-03-30", "end_date": "2026-03-30"}
INVOICES = "/v1/ERP/invoices/clients"


@pytest.fixture
def fast() -> Iterator[Caller]:
    options = ("--fast", "--flat", "--invoices-per-day", "20", "--today", "2026-03-31T18:00:00")
    with running(options=options) as sandbox:
        caller = Caller(sandbox)
        caller.login()
        yield caller


def test_cached_responses_follow_every_change(fast: Caller) -> None:
    sandbox = fast.sandbox
    seen = [fast.get(INVOICES, **DAY).body for _ in range(2)]
    assert seen[0] == seen[1]
    first = sandbox.invoices(1, date(2026, 3, 30), date(2026, 3, 30))[0]["id_invoice"]
    changes = (
        lambda: sandbox.pay(1, first),
        lambda: sandbox.set_dialect(nulls="absent"),
        lambda: sandbox.advance(days=45),
        lambda: sandbox.delete_invoice(1, first),
        lambda: sandbox.fill(seed=5),
    )
    for change in changes:
        change()
        now = fast.get(INVOICES, **DAY).body
        assert now == fast.get(INVOICES, **DAY).body
        assert now not in seen
        seen.append(now)


def test_cached_responses_follow_changed_contacts_and_require_a_token(fast: Caller) -> None:
    before = fast.get("/v1/CRM/contacts", filter="ALL").json()
    fast.sandbox.delete("contacts", 1001)
    after = fast.get("/v1/CRM/contacts", filter="ALL").json()
    assert [r["id"] for r in after["data"]][:99] == [r["id"] for r in before["data"]][1:]
    assert Caller(fast.sandbox).get("/v1/CRM/contacts", filter="ALL").status == 401


def test_responses_are_cached_up_to_the_limit() -> None:
    answers = ResponseCache(limit=10)
    small, large = Reply(200, (), b"12345"), Reply(200, (), b"123456")
    answers.put(("a", b""), small)
    answers.put(("b", b""), large)
    assert answers.get(("a", b""), None) is small
    assert answers.get(("b", b""), None) is None
    assert answers.get(("a", b""), "later") is None
