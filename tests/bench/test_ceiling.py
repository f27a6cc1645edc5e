"""Values of JSON for COPY: unchanged, but decoded where PostgreSQL reads another escape."""

from datetime import date

from bench.ceiling_rows import Splitter
from bench.peers.task import Task


def splitter(work: str) -> Splitter:
    return Splitter(Task(work, "", "", "", date(2026, 3, 1), 1, 1).fields)


def test_values_reach_copy_as_they_are() -> None:
    body = b'[{"total_due":1.50,"id_invoice":7,"client_name":"a \\"b\\" \\\\c","sent":null}]'
    rows, content = splitter("invoices").csv(body)
    values = content.rstrip(b"\n").split(b",")
    assert (rows, len(values), values[0], values[7]) == (1, 30, b"7", b'"a \\"b\\" \\\\c"')
    assert values.count(b"null") == 27


def test_other_escapes_are_decoded() -> None:
    body = b'{"total_pages":1,"data":[{"id":7,"last_name":"\\u00e9\\n\\"x\\\\"}]}'
    _, content = splitter("contacts").csv(body)
    assert '7,null,"é\n\\"x\\\\",null'.encode() in content
