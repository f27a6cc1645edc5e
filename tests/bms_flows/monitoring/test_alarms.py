"""Alarms: one open alarm per subject, one message per event."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, text

from bms_flows.monitoring import alarms
from bms_flows.runtime.notice import Links, NotDelivered, Notice
from bms_flows.texts import ALARMS
from tests.bms_flows.monitoring.conftest import Channel

LINKS = Links("https://airflow.example.com", "https://wiki.example.com/runbook", ZoneInfo("UTC"))


def raised(warehouse: Engine, code: str = "late", subject: str = "contact_sync") -> bool:
    with warehouse.begin() as connection:
        return alarms.raise_(
            connection, code, subject, detail="No load since noon.", flow="contact_sync"
        )


def recovered(warehouse: Engine, subject: str = "contact_sync") -> bool:
    with warehouse.begin() as connection:
        return alarms.recover(connection, subject)


def deliver(warehouse: Engine, channel: Channel) -> int:
    return alarms.deliver(warehouse, channel, LINKS)


def open_alarms(warehouse: Engine) -> list[alarms.Alarm]:
    with warehouse.connect() as connection:
        return alarms.open_alarms(connection)


def test_each_problem_and_each_recovery_is_one_message(warehouse: Engine, channel: Channel) -> None:
    for _ in range(2):
        assert [raised(warehouse) for _ in range(3)] == [True, False, False]
        assert [deliver(warehouse, channel) for _ in range(3)] == [1, 0, 0]
        assert [recovered(warehouse) for _ in range(2)] == [True, False]
        assert [deliver(warehouse, channel) for _ in range(2)] == [1, 0]
    assert channel.titles == ["Alarm: contact_sync (late)", "Recovered: contact_sync (late)"] * 2


def measured(
    warehouse: Engine, size: int, *aspects: str, code: str = "not_reconciled", detail: str = "…"
) -> None:
    with warehouse.begin() as connection:
        extent = alarms.Extent(aspects, size)
        alarms.raise_(connection, code, "contact_sync", detail=detail, extent=extent)


def test_an_open_alarm_is_updated_when_its_size_has_doubled(
    warehouse: Engine, channel: Channel
) -> None:
    measured(warehouse, 3, "detail_differs")
    deliver(warehouse, channel)
    for size in (3, 4, 6, 2, 6):
        measured(warehouse, size, "detail_differs")
        assert deliver(warehouse, channel) == 0
    measured(warehouse, 7, "detail_differs", detail="7 rows.")
    assert [deliver(warehouse, channel) for _ in range(2)] == [1, 0]
    assert channel.titles[1:] == ["Alarm update: contact_sync (not_reconciled)"]
    assert channel.taken[1].lines[0] == "7 rows."
    assert len(open_alarms(warehouse)) == 1


def test_an_open_alarm_with_a_new_code_is_updated_once(warehouse: Engine, channel: Channel) -> None:
    measured(warehouse, 3, "detail_differs")
    deliver(warehouse, channel)
    for aspects in (("detail_differs", "doubled"), ("doubled",), ("detail_differs",)):
        measured(warehouse, 3, *aspects)
        deliver(warehouse, channel)
    assert channel.titles[1:] == ["Alarm update: contact_sync (not_reconciled)"]


def test_growth_before_the_first_message_adds_no_message(
    warehouse: Engine, channel: Channel
) -> None:
    measured(warehouse, 3, "detail_differs")
    measured(warehouse, 300, "doubled")
    assert [deliver(warehouse, channel) for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(
    ("codes", "updates"),
    [
        (("late", "failed", "late", "failed"), ["failed"]),
        (("late", "suspect", "failed", "suspect"), ["suspect", "failed"]),
        (("failed", "late", "overdue"), []),  # elapsed time causes no update
    ],
)
def test_each_new_code_of_an_open_alarm_is_notified_once(
    warehouse: Engine, channel: Channel, codes: tuple[str, ...], updates: list[str]
) -> None:
    raised(warehouse, codes[0])
    (before,) = open_alarms(warehouse)
    deliver(warehouse, channel)
    for code in codes[1:]:
        assert not raised(warehouse, code)
        deliver(warehouse, channel)
    assert channel.titles[1:] == [f"Alarm update: contact_sync ({code})" for code in updates]
    (after,) = open_alarms(warehouse)
    assert (after.code, after.since) == (codes[-1], before.since)


def test_a_recovery_message_contains_its_reason(warehouse: Engine, channel: Channel) -> None:
    raised(warehouse)
    deliver(warehouse, channel)
    with warehouse.begin() as connection:
        alarms.recover(connection, "contact_sync", because="Entity 3 was removed.")
    deliver(warehouse, channel)
    assert channel.titles[1:] == ["Recovered: contact_sync (late)"]
    assert channel.taken[1].lines[1] == "Entity 3 was removed."


def test_subjects_are_independent(warehouse: Engine) -> None:
    raised(warehouse, subject="contact_sync")
    raised(warehouse, subject="invoice_extraction")
    recovered(warehouse, "contact_sync")
    assert [alarm.subject for alarm in open_alarms(warehouse)] == ["invoice_extraction"]


def test_an_alarm_that_recovers_before_its_message_is_not_notified(
    warehouse: Engine, channel: Channel
) -> None:
    raised(warehouse)
    recovered(warehouse)
    assert deliver(warehouse, channel) == 0


def refused(warehouse: Engine, channel: Channel) -> None:
    """Deliver while the channel is down."""
    channel.down = True
    with pytest.raises(NotDelivered):
        deliver(warehouse, channel)
    channel.down = False


@pytest.mark.parametrize("update", [False, True])
def test_an_unavailable_channel_delays_messages_and_updates_without_loss(
    warehouse: Engine, channel: Channel, *, update: bool
) -> None:
    measured(warehouse, 3)
    if update:
        deliver(warehouse, channel)
        measured(warehouse, 30)
    refused(warehouse, channel)
    assert deliver(warehouse, channel) == 1


def test_a_problem_that_ended_while_the_channel_was_down_is_reported(
    warehouse: Engine, channel: Channel
) -> None:
    raised(warehouse)
    refused(warehouse, channel)
    recovered(warehouse)
    assert [deliver(warehouse, channel) for _ in range(2)] == [1, 0]
    assert channel.titles == ["Recovered: contact_sync (late)"]


@pytest.mark.parametrize("acknowledged", [False, True])
def test_a_delayed_recovery_does_not_seem_to_close_the_next_alarm(
    warehouse: Engine, channel: Channel, *, acknowledged: bool
) -> None:
    raised(warehouse)
    deliver(warehouse, channel)
    (first,) = open_alarms(warehouse)
    if acknowledged:
        with warehouse.begin() as connection:
            end = datetime.now(UTC) + timedelta(hours=8)
            alarms.acknowledge(connection, first.id, end, name="Ada", note="known")
        recovered(warehouse)
        deliver(warehouse, channel)
    else:
        recovered(warehouse)
        refused(warehouse, channel)
    raised(warehouse)
    deliver(warehouse, channel)
    with warehouse.begin() as connection:
        ended = "update bms.alarm set acknowledged_until = now() where acknowledged_until > now()"
        connection.execute(text(ended))
    deliver(warehouse, channel)
    assert channel.titles == ["Alarm: contact_sync (late)"] * 2
    recovered(warehouse)
    assert [deliver(warehouse, channel) for _ in range(2)] == [1, 0]


def test_a_refused_message_does_not_block_the_others(warehouse: Engine) -> None:
    subjects = ["contact_sync", "consultant_sync", "invoice_extraction"]
    for subject in subjects:
        raised(warehouse, subject=subject)
    sent: list[str] = []

    def send(notice: Notice) -> None:
        if "contact_sync" in notice.title:
            raise NotDelivered("refused")
        sent.append(notice.title)

    for expected in (2, 2):
        with pytest.raises(NotDelivered):
            alarms.deliver(warehouse, send, LINKS)
        assert len(sent) == expected


def test_concurrent_raises_give_one_alarm_and_one_message(
    warehouse: Engine, channel: Channel
) -> None:
    def notice_it(_: int) -> tuple[bool, int]:
        return raised(warehouse), deliver(warehouse, channel)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(notice_it, range(24)))
    assert sum(new for new, _ in found) == 1
    assert sum(told for _, told in found) == 1
    assert len(channel.taken) == 1


def test_an_unknown_code_is_refused(warehouse: Engine) -> None:
    with pytest.raises(KeyError):
        raised(warehouse, "no_such_code")


def test_a_message_contains_detail_start_meaning_remedy_and_links(
    warehouse: Engine, channel: Channel
) -> None:
    since = datetime(2026, 3, 31, 12, 5, tzinfo=UTC)
    with warehouse.begin() as connection:
        alarms.raise_(
            connection,
            "late",
            "contact_sync",
            detail="Contacts: the last complete load ended at noon.",
            flow="contact_sync",
            dag_run_id="scheduled__2026-03-31T10:05:00+00:00",
            since=since,
        )
    deliver(warehouse, channel)
    assert channel.taken[0].text.splitlines() == [
        "Alarm: contact_sync (late)",
        "Contacts: the last complete load ended at noon.",
        "Since: 2026-03-31 12:05 UTC",
        (
            f"What it means: {ALARMS['late'].meaning} Contacts are out of date; new contacts are missing."
        ),
        f"Can it wait until morning: {ALARMS['late'].wait}",
        f"What to do: {ALARMS['late'].do}",
        (
            "Run: https://airflow.example.com/dags/contact_sync/runs/"
            "scheduled__2026-03-31T10%3A05%3A00%2B00%3A00"
        ),
        "Runbook: https://wiki.example.com/runbook#late",
    ]


@pytest.mark.parametrize(
    ("length", "told"),
    [
        (timedelta(seconds=59), "0 min"),
        (timedelta(minutes=59), "59 min"),
        (timedelta(minutes=130), "2 h 10 min"),
        (timedelta(hours=49), "2 d 1 h"),
    ],
)
def test_durations_are_shown_in_two_units(length: timedelta, told: str) -> None:
    assert alarms.span(length) == told


def test_the_table_refuses_a_recovery_message_without_an_alarm_message(warehouse: Engine) -> None:
    raised(warehouse)
    recovered(warehouse)
    with pytest.raises(Exception, match="ck_alarm_notified"), warehouse.begin() as connection:
        connection.execute(text("update bms.alarm set recovery_notified_at = now()"))
