"""`bms why drop`: the file, its plans, its rows, decisions and by whom; codes only, no cells."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from bms_flows.catalog import CREATED_BY
from bms_flows.inquiry.answer import Answer, Event, Inquiry
from bms_flows.onboarding.faults import Fault
from bms_flows.onboarding.planning.plan import ApprovalReason
from bms_flows.onboarding.reporting.approval_request import reason_text
from bms_flows.texts import FAULTS, WAITING, WITHDRAWN, Reason

OPEN: Final = ("ready", "sending", "unknown")
WHAT: Final = {
    "intended": "create sent",
    "unknown": "no response to the create: the outcome is unknown",
    "created": "created",
    "adopted": "found in the service and adopted",
    "not_found": "not found in the service's lists",
    "cleared": "proven absent: may be sent again",
    "rejected": "rejected",
    "review": "sent to review",
    "late_answer": "a late response arrived",
    "withdrawn": "attempt withdrawn: nothing was sent",
}
"""Texts of the ledger's events; another event is shown by its code."""


def why(asked: Inquiry, number: int, line: int | None) -> list[Answer]:
    """Return the answer about a drop, or about one line of it."""
    found = asked.query("select * from bms.dropped_file where id = :id", id=number)
    if not found:
        return [Answer(f"Drop {number}: there is no such drop", found=False)]
    drop = found[0]
    answer = Answer(f"Drop {number}, {drop['resource']}, {drop['state']}")
    answer.events += _file(drop)
    if drop["same_as"]:
        answer.facts.append(f"Its content equals that of drop {drop['same_as']}.")
    rows = asked.query("select * from bms.creation where drop_id = :id order by line", id=number)
    plans = asked.query(
        "select * from bms.creation_plan where drop_id = :id order by made_at", id=number
    )
    for plan in plans:
        answer.events += _plan(plan)
    if line is None:
        counts = drop["counts"] or Counter(each["state"] for each in rows)
        answer.facts += [f"Rows {state}: {count}" for state, count in counts.items() if count]
        answer.facts += _faults_of_file(asked, drop)
        answer.facts += _unfinished(rows)
        answer.next += _next(drop, plans, rows, asked)
        return [answer]
    answer.subject += f", line {line}"
    for row in (each for each in rows if each["line"] == line):
        answer.facts.append(_state(row))
        answer.events += _events(asked, row["id"])
        answer.next += _next_of_row(row, asked)
    for planned in (each for plan in plans[-1:] for each in plan["rows"] if each["line"] == line):
        answer.facts += _outcome(planned)
    if not answer.facts:
        answer.found = False
        answer.facts.append(
            "The ledger and the plan have no such line: the header is line 1, and a line that another"
            " drop entered again belongs to that drop."
        )
    return [answer]


def _file(drop: Mapping[str, Any]) -> Iterator[Event]:
    run = f"{CREATED_BY[drop['resource']].dag_id} {drop['dag_run_id']}"
    yield Event(drop["entered_at"], "file found in the inbox")
    if drop["started_at"]:
        yield Event(drop["started_at"], "run started", run)
    if drop["finished_at"]:
        because = f". {_sentences(WITHDRAWN[drop['reason']])}" if drop["reason"] else ""
        yield Event(drop["finished_at"], f"ended: {drop['state']}{because}", run)


def events_of_record(asked: Inquiry, resource: str, key: str) -> Iterator[Event]:
    """Yield what drops did to a record of the service: creation, matches, decisions."""
    rows = asked.query(
        """
        select id, drop_id, line from bms.creation
        where resource = :resource and (lower(remote_id) = lower(:key) or cast(remote_number as text) = :key)
        """,
        resource=resource,
        key=key,
    )
    for row in rows:
        yield from _events(asked, row["id"], f"drop {row['drop_id']} line {row['line']}: ")
    matched = asked.query(
        """
        select drop_id, matched_at from bms.creation_match
        where resource = :resource and lower(remote_id) = lower(:key)
        """,
        resource=resource,
        key=key,
    )
    for row in matched:
        yield Event(row["matched_at"], f"a row of drop {row['drop_id']} matched this record")


def _plan(plan: Mapping[str, Any]) -> Iterator[Event]:
    counts = ", ".join(f"{count} {name}" for name, count in plan["counts"].items() if count)
    yield Event(plan["made_at"], f"plan made: {counts or 'no rows'}")
    if plan["asked_at"]:
        reasons = "; ".join(
            reason_text(ApprovalReason(**each), "EN") for each in plan["asked_because"] or ()
        )
        yield Event(plan["asked_at"], f"approval requested: {reasons}")
    if plan["decided_at"]:
        decision = "rejected" if plan["state"] == "refused" else "approved"
        yield Event(plan["decided_at"], f"plan {decision} by {plan['decided_by']}")
    if plan["applied_at"]:
        yield Event(plan["applied_at"], "rows entered the ledger")


def _events(asked: Inquiry, creation: int, prefix: str = "") -> Iterator[Event]:
    rows = asked.query(
        "select * from bms.creation_event where creation_id = :id order by id", id=creation
    )
    for row in rows:
        said = f"{prefix}{WHAT.get(row['what'], row['what'])}, attempt {row['attempt']}"
        if row["detail"]:
            said += f" ({row['detail']})"
        if row["who"]:
            said += f", decided by {row['who']}"
        yield Event(row["at"], said)


def _state(row: Mapping[str, Any]) -> str:
    said = f"State {row['state']}, attempt {row['attempt']} of {row['max_attempts']}"
    if row["remote_id"]:
        said += f", record {row['remote_id']}"
    if row["reason"]:
        said += f". {_reason(row['reason'])}"
    if row["candidates"]:
        said += f" Candidates: {', '.join(row['candidates'])}."
    return said


def _reason(code: str, details: Mapping[str, Any] | None = None, column: str | None = None) -> str:
    """Return a code with its meaning and remedy; a code of another version stands alone."""
    known, _, status = (code, "", "") if code in FAULTS else code.partition("_")  # `refused_422`
    if known not in FAULTS:
        return code
    fault = Fault(known, None, details={"status": status, **(details or {})})
    of = f" ({column})" if column else ""
    return f"{code}{of}: {fault.reason('EN')} {fault.hint('EN')}"


def _sentences(text: Mapping[Any, Reason]) -> str:
    return " ".join(filter(None, text["EN"]))


def _outcome(outcome: Mapping[str, Any]) -> Iterator[str]:
    shown = ", ".join(
        f"{name} {value}"
        for name, value in outcome.items()
        if name not in ("key", "line", "reason", "details", "faults") and value
    )
    yield f"Plan: {shown}"
    if outcome.get("reason"):
        yield _reason(outcome["reason"], outcome["details"])
    for fault in outcome.get("faults", ()):
        yield _reason(fault["code"], fault["details"], fault["field"])


def _faults_of_file(asked: Inquiry, drop: Mapping[str, Any]) -> Iterator[str]:
    concluded = asked.query(
        """
        select details -> 'file_faults' as faults from bms.step_run
        where step = 'conclude' and details ->> 'drop' = :drop and started_at >= :entered_at
        order by id desc limit 1
        """,
        drop=str(drop["id"]),
        entered_at=drop["entered_at"],
    )
    for fault in (each for step in concluded for each in step["faults"] or ()):
        yield _reason(fault["code"], fault["details"])


def _unfinished(rows: list[dict[str, Any]]) -> Iterator[str]:
    by_reason = Counter(
        (each["state"], each["reason"]) for each in rows if each["state"] in (*OPEN, "review")
    )
    for (state, reason), count in by_reason.most_common(5):
        yield f"Rows {state}: {count}{', ' + _reason(reason) if reason else ''}"


def _next(
    drop: Mapping[str, Any],
    plans: list[dict[str, Any]],
    rows: list[dict[str, Any]],
    asked: Inquiry,
) -> Iterator[str]:
    if drop["state"] == "waiting":
        yield _sentences(WAITING[drop["waits_for"]])
        return
    if requested := bool(plans and plans[-1]["state"] == "made" and plans[-1]["asked_at"]):
        waited = (asked.now - plans[-1]["asked_at"]).total_seconds() / 3600
        left = asked.settings.approval_hours - waited
        yield (
            f"The plan waits for an approver; it is rejected in {left:.0f} h."
            if left > 0
            else "The request for approval has expired: trigger the DAG with the drop's number."
        )
    if review := sum(each["state"] == "review" for each in rows):
        yield f"Rows that wait for a reviewer's decision: {review} ({asked.links.drop(drop['id'])})"
    if unfinished := [each for each in rows if each["state"] in OPEN]:
        due = [each["in_flight_until"] for each in unfinished if each["in_flight_until"]]
        first = f", the first at {_time(min(due), asked)}" if due else ""
        yield (
            "Rows that this run, or the next attempt of its task, sends or settles:"
            f" {len(unfinished)}{first}."
        )
    if unfinished or (drop["state"] == "open" and not requested):
        flow = CREATED_BY[drop["resource"]].dag_id
        yield f"If no run is active, trigger {flow} with the drop's number, which finishes the drop."


def _time(at: datetime, asked: Inquiry) -> str:
    return f"{at.astimezone(asked.settings.time_zone):%Y-%m-%d %H:%M:%S %Z}"


def _next_of_row(row: Mapping[str, Any], asked: Inquiry) -> Iterator[str]:
    if row["state"] == "review":
        yield f"A reviewer decides: {asked.links.drop(row['drop_id'])}"
    elif row["state"] == "unknown":
        until = _time(row["in_flight_until"], asked) if row["in_flight_until"] else "now"
        yield (
            f"From {until} on, the next check of the service's lists decides: it must find the record, or its"
            f" absence must be proven (lists may lag by {asked.settings.settle_s:.0f} s)."
        )
    elif row["state"] in OPEN:
        yield "The run, or the next attempt of its task, sends the row."
    else:
        yield "Nothing: the row has its outcome."
