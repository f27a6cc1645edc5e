"""Shapes of responses: error bodies, time zones, undocumented fields, codes; pure functions.

Findings hold names, codes and numbers only, never a text that may be personal.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from bms.dates import NO_DATE, SHAPE
from bms.endpoints import BY_OPERATION
from bms.records import Record, described
from bms_flows.contract.finding import ContractFinding, Question
from bms_flows.contract.replies import Reply

Row = Mapping[str, Any]

NAME: Final = re.compile(r"[A-Za-z_][\w.\-]{0,59}")
CODE: Final = re.compile(r"[\w.\-]{1,20}")
MAX_CODES: Final = 40
"""A field with more distinct values holds no codes."""
PROBLEM: Final = {"type", "title", "status"}
"""Members of a problem document (RFC 9457)."""
CLOCK_TOLERANCE_S: Final = 900.0
"""Seconds by which the clocks of the service may differ."""
ZONE: Final = Question("datetime_zone", "time_zone of the connection")
OFFSETS: Final = Question("offsets")
TIMESTAMPS: Final = {
    name
    for record in BY_OPERATION.values()
    for name, each in described(record).items()
    if each.kind == "timestamp"
}
"""Names of the fields with a timestamp."""


# Errors


def error(name: str, request: str, reply: Reply) -> ContractFinding:
    """Return the status and body shape of the reply to an invalid request."""
    question, value = Question(name), {"status": reply.status, "body": body_shape(reply)}
    if reply.ok and reply.content() is not None:
        summary = f"{request}: the service responds {reply.status}, as to a valid request."
        return question.answered(value | {"body": "an answer"}, summary)
    summary = f"{request}: the service responds {reply.status}; the body is {value['body']}."
    return question.answered(value, summary)


def body_shape(reply: Reply) -> str:
    """Return the kind of an error's body, with the names of its members."""
    if not reply.body.strip():
        return "empty"
    content = reply.content()
    if not isinstance(content, dict):
        return "text" if content is None else "json"
    names = sorted(name for name in content if NAME.fullmatch(name))
    kind = "problem" if content.keys() >= PROBLEM else "json"
    return f"{kind}: {', '.join(names)}"


# Time zones


def datetime_zone(rows: Iterable[Row], served_at: float | None, assumed: str) -> ContractFinding:
    """Return how timestamps name their zone.

    A timestamp without a zone that is ahead of the service's clock contradicts `assumed`.
    """
    timestamps = [text for row in rows for text in _timestamps(row)]
    notations = sorted({_notation(text) for text in timestamps})
    if not notations:
        return ZONE.undetermined("the sample has no timestamp.")
    summaries = {
        "none": "Timestamps have no zone.",
        "Z": "Timestamps are in UTC and marked Z.",
        "offset": "Timestamps have an offset.",
    }
    without_zone = [text for text in timestamps if _notation(text) == "none"]
    return ZONE.answered(
        notations,
        " ".join(summaries[each] for each in notations),
        f"Read in {assumed}, a timestamp is in the future: set time_zone to a zone further east."
        if _ahead(without_zone, served_at, assumed)
        else None,
    )


def offsets(rows: Iterable[Row], zone: str) -> ContractFinding:
    """Return the offsets of timestamps, if the rows include winter and summer."""
    seen: set[str] = set()
    agree, seasons = True, set()
    for text in (text for row in rows for text in _timestamps(row)):
        if _notation(text) != "offset":
            continue
        moment = datetime.fromisoformat(text)
        seen.add(moment.isoformat()[-6:])
        seasons.add(moment.month)
        agree = agree and moment.utcoffset() == moment.astimezone(ZoneInfo(zone)).utcoffset()
    if not seasons & {12, 1, 2} or not seasons & {6, 7, 8}:
        return OFFSETS.undetermined("the sample lacks offsets of winter or of summer.")
    verb = "match" if agree else "do not match"
    summary = f"The offsets {', '.join(sorted(seen))} {verb} {zone}."
    return OFFSETS.answered(sorted(seen), summary)


def _timestamps(row: Row) -> list[str]:
    texts = [text for name in TIMESTAMPS if isinstance(text := row.get(name), str)]
    return [text for text in texts if SHAPE.fullmatch(text) and not text.startswith(NO_DATE)]


def _notation(text: str) -> str:
    if text[-1] in "Zz":
        return "Z"
    return "offset" if re.search(r"[ T].*[+-]\d\d(?::?\d\d)?$", text) else "none"


def _ahead(texts: Sequence[str], served_at: float | None, zone: str) -> bool:
    if served_at is None:
        return False
    limit = datetime.fromtimestamp(served_at, UTC) + timedelta(seconds=CLOCK_TOLERANCE_S)
    moments = (datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)) for text in texts)
    return any(moment > limit for moment in moments)


# Fields and codes


def undocumented(operation: str, rows: Sequence[Row], record: type[Record]) -> ContractFinding:
    """Return the names of fields that the interface does not describe."""
    question = Question(f"undocumented_{operation}", cumulative=True)
    if not rows:
        return question.undetermined("the list has no rows.")
    new = sorted(
        {each for row in rows for each in row if NAME.fullmatch(each)} - {*described(record)}
    )
    summary = f"{operation} returns undocumented fields: {', '.join(new) or 'none'}."
    return question.answered(new[:MAX_CODES], summary)


def codes(resource: str, field: str, rows: Sequence[Row]) -> ContractFinding:
    """Return the codes that a field has in the rows."""
    question = Question(f"codes_{resource}_{field}", cumulative=True)
    values = {row[field] for row in rows if isinstance(row.get(field), str)}
    found = sorted(code for code in values if CODE.fullmatch(code))
    if not found:
        return question.undetermined("no row has a code.")
    if len(found) > MAX_CODES:
        return question.undetermined(f"the field has more than {MAX_CODES} values.")
    summary = f"Values of {field} of {resource}: {', '.join(found)}."
    return question.answered(found, summary)
