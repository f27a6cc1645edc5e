"""Tests of hostile responses: typed errors, no lost row, bounded time and memory."""

import asyncio
import gzip
import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from bms.auth import read_token
from bms.created import read_created_employee, read_created_id
from bms.decoding import MAX_DEPTH, RecordReader
from bms.endpoints import BY_NAME
from bms.errors import (
    BmsError,
    ConnectionFailed,
    InvalidRecords,
    MalformedResponse,
    RangeRefused,
    TooLarge,
)
from bms.records import ClientInvoice, ContactItem
from bms.transport import Request
from tests.bms.fake_services import EMPLOYEE, INVOICE, FakeService, Open, saying

INVOICES, CONTACTS = BY_NAME["list_client_invoices"], BY_NAME["list_contacts"]
MIB = 1 << 20

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
fields = st.sampled_from([*ClientInvoice.__struct_fields__, "id", "new", "", "\0"])
"""Field names of the interface, and others."""
rows = st.lists(st.just(INVOICE) | st.dictionaries(fields, values, max_size=8) | values, max_size=6)


def bodies(content: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """Generate bodies: JSON in any encoding, truncated anywhere, or arbitrary bytes."""
    written = content.map(lambda each: json.dumps(each, ensure_ascii=False))
    encoded = st.tuples(written, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])).map(
        lambda each: each[0].encode(each[1], errors="replace")
    )
    cut = st.tuples(encoded, st.floats(0, 1)).map(
        lambda each: each[0][: int(len(each[0]) * each[1])]
    )
    return encoded | cut | st.binary(max_size=60)


@given(body=bodies(rows))
def test_every_row_of_any_list_is_decoded_or_rejected(body: bytes) -> None:
    reader = RecordReader(INVOICES, ClientInvoice)
    try:
        found = reader.rows(body)
    except MalformedResponse:
        return
    came = json.loads(body.removeprefix(b"\xef\xbb\xbf"))
    assert len(found.records) + len(found.rejected) == len(came)
    again = reader.rows(body)  # with the learned names
    assert (again.records, again.extra, again.rejected) == (
        found.records,
        found.extra,
        found.rejected,
    )


@given(body=bodies(st.fixed_dictionaries({"total_pages": values, "data": rows}) | values))
def test_every_row_of_any_page_is_decoded_or_rejected(body: bytes) -> None:
    try:
        found = RecordReader(CONTACTS, ContactItem).page(body, number=1, size=100)
    except MalformedResponse:
        return
    came = json.loads(body.removeprefix(b"\xef\xbb\xbf"))
    assert len(found.records) + len(found.rejected) == len(came["data"])


@given(body=bodies(st.just(INVOICE) | st.dictionaries(fields, values, max_size=8) | values))
def test_any_single_body_is_decoded_or_raises(body: bytes) -> None:
    for read in (
        RecordReader(INVOICES, ClientInvoice).detail,
        lambda each: read_created_id(BY_NAME["create_contact"], "id_contact", each),
        lambda each: read_created_employee(BY_NAME["create_employee"], each),
    ):
        with suppress(MalformedResponse, InvalidRecords):
            read(body)


@given(
    body=bodies(st.dictionaries(st.sampled_from(["access_token", "expires_in", "scope"]), values))
)
def test_any_token_response_gives_a_token_or_none(body: bytes) -> None:
    token = read_token(body, requested_at=0.0, served_at=None, seconds_per_unit=1.0)
    assert token is None or (token.value.isascii() and token.value.isprintable())


ENDLESS = b"[" * 200_000 + b"]" * 200_000
MEMBER = json.dumps(INVOICE).encode()[:-1] + b', "new": %s}'


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (lambda body: RecordReader(INVOICES, ClientInvoice).rows(body), ENDLESS),
        (lambda body: RecordReader(INVOICES, ClientInvoice).rows(body), b"[" + ENDLESS + b"]"),
        (lambda body: RecordReader(INVOICES, ClientInvoice).rows(body), b"[" + MEMBER % ENDLESS + b"]"),
        (lambda body: RecordReader(INVOICES, ClientInvoice).detail(body), MEMBER % ENDLESS),
        (
            lambda body: RecordReader(CONTACTS, ContactItem).page(body, number=1, size=1),
            b'{"total_pages": 1, "new": ' + ENDLESS + b', "data": []}',
        ),
        (lambda body: read_created_id(BY_NAME["create_contact"], "id_contact", body), ENDLESS),
        (
            lambda body: read_created_employee(BY_NAME["create_employee"], body),
            b'{"new": ' + ENDLESS + b"}",
        ),
    ],
)  # fmt: skip
def test_endless_nesting_is_malformed(read: Callable[[bytes], object], body: bytes) -> None:
    with pytest.raises(MalformedResponse) as caught:
        read(body)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("levels", "read"), [(MAX_DEPTH - 1, True), (MAX_DEPTH, False), (500, False)]
)
def test_an_unknown_field_is_nested_up_to_the_maximum_depth(levels: int, *, read: bool) -> None:
    reader = RecordReader(INVOICES, ClientInvoice)
    body = b"[" + MEMBER % (b"[" * levels + b"]" * levels) + b"]"
    for _ in range(2):  # the second read knows the name
        if read:
            assert len(reader.rows(body)) == 1
        else:
            with pytest.raises(MalformedResponse):
                reader.rows(body)


def test_a_number_with_a_huge_exponent_is_rejected() -> None:
    started = time.thread_time()
    huge = [MEMBER.replace(b'"id_invoice": 1', b'"id_invoice": 1E999999999') % b"1"]
    huge.append(json.dumps(INVOICE | {"id_client": 0}).encode().replace(b": 0}", b": 1E999999999}"))
    found = RecordReader(INVOICES, ClientInvoice).rows(b"[" + b",".join(huge) + b"]")
    assert [row.code for row in found.rejected] == ["bad_type"]
    assert [record.id_client for record in found] == [None]
    assert set(found.extra[0]) == {"id_client"}
    assert time.thread_time() - started < 5


def test_an_integer_that_python_does_not_convert_concerns_its_row_only() -> None:
    digits, text = b"9" * 5_000, b'"a,' + b"9" * 5_000 + b',b"'
    rows = [
        MEMBER % b"1",
        MEMBER % (b'{"a": [-%b, %b]}' % (digits, text)),
        MEMBER.replace(b'"id_invoice": 1', b'"id_invoice": ' + digits) % b"1",
        MEMBER.replace(b'"id_invoice": 1', b'"id_invoice": 2, "id_client": ' + digits) % b"1",
    ]
    reader = RecordReader(INVOICES, ClientInvoice)
    for _ in range(2):  # the second read knows the name
        found = reader.rows(b"[" + b",".join(rows) + b"]")
        assert [record.id_invoice for record in found] == [1, 1, 2]
        assert [(row.index, row.code) for row in found.rejected] == [(2, "bad_type")]
        assert found.extra[1] == {"new": {"a": ["-" + digits.decode(), text[1:-1].decode()]}}
        assert found.extra[2] == {"new": 1, "id_client": digits.decode()}


async def without_end(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" " * MIB)


async def bomb(_request: web.Request) -> web.StreamResponse:
    packed = gzip.compress(b" " * (64 * MIB))
    assert len(packed) < MIB
    return web.Response(body=packed, headers={"Content-Encoding": "gzip"})


announced = saying(body=b" " * (5 * MIB))


async def test_a_content_length_above_the_limit_fails_without_reading_the_body(
    open_transport: Any, fake: FakeService
) -> None:
    """The body never arrives: reading it would last longer than the test may."""
    refused = asyncio.Event()

    async def headers_alone(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(5 * MIB)})
        await response.prepare(request)
        await refused.wait()
        return response

    fake.respond = headers_alone
    transport = await open_transport(fake.settings(timeout=3600), max_response=4 * MIB)
    try:
        with pytest.raises(TooLarge):
            await transport.send(Request(CONTACTS, "/x"))
    finally:
        refused.set()


@pytest.mark.parametrize("answer", [without_end, bomb, announced])
async def test_a_response_above_the_limit_fails_at_once(
    open_transport: Any, fake: FakeService, answer: Any
) -> None:
    fake.respond = answer
    transport = await open_transport(fake.settings(timeout=3600), max_response=4 * MIB)
    with pytest.raises(RangeRefused, match="shorter range"):
        await transport.send(Request(INVOICES, "/x"))
    with pytest.raises(TooLarge, match="exceeds 4194304 bytes; a smaller page_size"):
        await transport.send(Request(CONTACTS, "/x"))
    with pytest.raises(TooLarge, match="check base_url"):
        await transport.send(Request(BY_NAME["list_employees"], "/x"))


async def test_endless_headers_raise(fake: FakeService, open_client: Open) -> None:
    fake.respond = saying(body=b"[]", headers={"X-Long": "x" * 200_000})
    client = await open_client(fake.settings(attempts=1))
    with pytest.raises(BmsError) as caught:
        await client.list_employees(id_entity=1)
    assert "xxx" not in str(caught.value)


@pytest.mark.parametrize("of_token", [False, True])
async def test_a_proxy_that_refuses_its_credentials_is_no_refusal_of_the_service(
    fake: FakeService, open_client: Open, *, of_token: bool
) -> None:
    """Otherwise each row of a drop would be rejected for its data, or the service's secret be blamed."""
    refuse = saying(status=407)
    if of_token:
        fake.respond_token = refuse
    else:
        fake.respond = refuse
    client = await open_client(fake.settings(attempts=2))
    with pytest.raises(ConnectionFailed, match="the proxy refuses, 407") as caught:
        await client.create_employee(EMPLOYEE)
    assert caught.value.retriable
    assert not caught.value.sent
