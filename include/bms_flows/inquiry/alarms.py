"""`bms why alarm`: what opened an alarm, what was sent, and what it waits for to close."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import select

from bms_flows.catalog import FLOWS
from bms_flows.inquiry.answer import Answer, Event, Inquiry, run_of
from bms_flows.monitoring import alarms, causes
from bms_flows.monitoring.alarms import Alarm
from bms_flows.monitoring.freshness import read_freshness
from bms_flows.monitoring.freshness_check import is_over
from bms_flows.texts import SECTIONS, VIOLATIONS
from bms_warehouse import tables

MOST_STEPS: Final = 5
CLOSES: Final = {
    "no_slots": "It closes with the next load that gets slots of the pool.",
    "approval_waits": "It closes when an approver answers, or the request expires.",
    "numbers_missing": "It closes when the numbers arrive, or are accepted (bms accept-numbers).",
    "rows_stay_invalid": "It closes when the rows are read without error, or are accepted (bms accept-invalid).",
    "contract_changed": "It closes with the next run of service_contract that finds the former or a confirmed behaviour.",
    "setting_contradicted": "It closes with a run of service_contract that finds setting and behaviour in agreement.",
    "not_reconciled": "It closes with an audit that finds these days reconciled.",
    "audit_cycle": "It closes with an audit whose cycle is within BMS_AUDIT_CYCLE_DAYS.",
    "data_root_unusable": "It closes with the next run of freshness_watchdog that can read and write every inbox.",
    "partial": "It closes when every row of the drop has its outcome.",
}
"""What closes an alarm, by code; the alarms of a flow close by its loads."""


def why(asked: Inquiry, number: int) -> list[Answer]:
    """Return the answer about an alarm, open or closed."""
    alarm = asked.connection.execute(
        select(tables.alarm).where(tables.alarm.c.id == number)
    ).first()
    if alarm is None:
        return [Answer(f"Alarm {number}: there is no such alarm", found=False)]
    links = asked.links
    code, section = alarms.section_of(alarm)
    state = "closed" if alarm.recovered_at else "open"
    answer = Answer(f"Alarm {number}: {alarm.subject} ({code}), {state}, {section.severity}")
    answer.facts += [alarm.detail, section.meaning, f"Can it wait until morning: {section.wait}"]
    answer.events += [
        Event(at, said)
        for at, said in (
            (alarm.since, "the problem began"),
            (alarm.raised_at, "detected"),
            (alarm.notified_at, "notified"),
            (alarm.refused_at, "a message was accepted by no channel"),
            (
                alarm.update_notified_at,
                "notified again, because it had grown or its acknowledgement ended",
            ),
            (alarm.recovered_at, f"closed. {alarm.recovery_reason or ''}".strip()),
            (alarm.recovery_notified_at, "end notified"),
        )
        if at
    ]
    if silenced := alarms.acknowledgement(alarm, asked.now):
        by, until, note = silenced
        answer.facts.append(f"Acknowledged by {by} until {links.time(until)}: {note}")
    if alarm.flow:
        steps = asked.query(
            """
            select * from bms.step_run where flow = :flow and started_at >= :since - interval '1 day'
                and (state in ('failed', 'suspect', 'partial', 'unstable') or dag_run_id = :run)
            order by id desc limit :most
            """,
            flow=alarm.flow,
            since=alarm.since,
            run=alarm.dag_run_id,
            most=MOST_STEPS,
        )
        for step in steps:
            reason = f": {step['reason']}" if step["reason"] else ""
            said = f"step {step['step']} {step['state']}{reason}"
            at = step["finished_at"] or step["started_at"]
            answer.events.append(Event(at, said, run_of(step)))
    if alarm.recovered_at is None:
        answer.next += [*_waits_for(asked, alarm), f"What to do: {section.do}"]
    return [answer]


def _waits_for(asked: Inquiry, alarm: Alarm) -> Iterator[str]:
    connection, settings = asked.connection, asked.settings
    yield f"The alarm stays open until its own cause is gone ({SECTIONS['alarm_stays_open'].happened})"
    flow = FLOWS.get(str(alarm.flow))
    if alarm.code in CLOSES or flow is None or alarm.subject != alarm.flow:
        yield CLOSES.get(alarm.code, "It closes when the drop that it names has ended.")
        return
    held = causes.held_loads(connection, flow)
    if held:
        yield f"{causes.describe(held)} It closes once they are read again plausibly, or accepted."
        for code in sorted({each.code for each in held if each.code in VIOLATIONS}):
            yield f"{code}: {VIOLATIONS[code].happened} {VIOLATIONS[code].do}"
    if causes.unrepaired(
        connection, flow.dag_id, alarm.dag_run_id, alarm.since, settings.lookback_days
    ):
        yield (
            f"A failed step of {alarm.dag_run_id or 'a run'} was not repeated: clear its task, or load its days."
        )
    fresh = read_freshness(connection, settings, asked.now).get(flow.dag_id)
    if fresh and not is_over(fresh, alarm):
        lacking = [
            str(each.id_entity)
            for each in fresh.entities
            if each.id_entity is not None
            and not (each.complete_at and each.complete_at > alarm.since)
        ]
        of = f" of entity {', '.join(lacking)}" if lacking else ""
        yield f"It waits for a complete load{of} that ends after {asked.links.time(alarm.since)}."
    elif fresh and not held:
        yield "Its cause seems gone: the next check of freshness_watchdog or bms health --notify closes it."
