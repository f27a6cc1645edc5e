"""End of a drop: digest of its content, report, final state, and the message to HR users."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, Engine, func, select, update

from bms_flows.onboarding.inbox.claim import Drop, Ending, renew
from bms_flows.runtime.notice import Notice
from bms_flows.runtime.settings import Language
from bms_flows.texts import NOTICE, OUTCOMES
from bms_warehouse.database import NOW
from bms_warehouse.locks import Busy
from bms_warehouse.tables import dropped_file


def record_content(engine: Engine, held: Drop, *, sha256: str, archive: str) -> Drop | None:
    """Store the digest and the place of a file; return an earlier finished drop of the same content.

    A drop is finished where it was applied and the records of all its rows were in the service. Any
    other row may end differently now, because its cause may be fixed.
    """
    with engine.begin() as connection:
        renew(connection, held, sha256=sha256, archive=archive)
        same = (
            select(dropped_file)
            .where(
                dropped_file.c.resource == held.resource,
                dropped_file.c.sha256 == sha256,
                dropped_file.c.state == "applied",
                dropped_file.c.counts.is_not(None),
                dropped_file.c.undo_at.is_(None),  # its records are being removed
                dropped_file.c.id != held.id,
            )
            .order_by(dropped_file.c.id.desc())
            .limit(1)
        )
        earlier = connection.execute(same).mappings().one_or_none()
    if earlier is None or not all_present(earlier["counts"]):
        return None
    return Drop.of(earlier)


def restore_ending(engine: Engine, held: Drop) -> None:
    """Restore the earlier end of a reopened drop; a drop that never ended stays open.

    Raises `LeaseLost`.
    """
    if held.ended_before is None:
        return
    with engine.begin() as connection:
        renew(connection, held, state=held.ended_before, ended_before=None)


def withdraw(engine: Engine, held: Drop, reason: str) -> None:
    """End a drop whose file is not readable, with a reason code; restore an earlier end.

    Raises `LeaseLost`.
    """
    if held.ended_before is not None:
        restore_ending(engine, held)
        return
    with engine.begin() as connection:
        finish(connection, held, "withdrawn", reason=reason)


def withdraw_open(connection: Connection, numbers: Collection[int]) -> None:
    """End the open ones of these drops, whose originals are being deleted, in the caller's transaction.

    Their runs write nothing more: they find the lease lost. Raises `Busy` if a run works on one.
    """
    mine = dropped_file.c.id.in_(numbers) & (dropped_file.c.state == "open")
    live = select(dropped_file.c.id).where(mine, dropped_file.c.expires_at > NOW).limit(1)
    if (number := connection.scalar(live)) is not None:
        raise Busy(f"a run works on drop {number}, which contains the record")
    ending = func.coalesce(dropped_file.c.ended_before, "withdrawn")
    values = {"state": ending, "ended_before": None, "reason": "archive_expired"}
    connection.execute(update(dropped_file).where(mine).values(values | {"finished_at": NOW}))


def finish(connection: Connection, held: Drop, ending: Ending, **result: Any) -> None:
    """Record the end of a drop in the caller's transaction; raise `LeaseLost` if another run holds it.

    `result` may have `report`, `counts`, `same_as` and `reason`; those that it lacks are cleared.
    """
    lost = dict.fromkeys(("report", "counts", "same_as", "reason"))
    ended = {"state": ending, "ended_before": None, "finished_at": NOW}
    renew(connection, held, **{**lost, **result, **ended})


def all_present(counts: Mapping[str, int]) -> bool:
    """Return whether a drop has rows (by state), and the service has the record of each."""
    present = sum(counts[state] for state in ("created", "adopted", "already_there"))
    return 0 < present == sum(counts.values())


def notice(
    drop: Drop,
    inbox: str,
    counts: Mapping[str, int],
    *,
    language: Language,
    plan: str,
    report: str,
    run: str,
) -> Notice:
    """Return the message of a drop that has ended, for now or for good.

    `counts`: rows by outcome; `report` and `run`: where the report and the run's page are. Names
    of files may be names of people, so the drop goes by its number.
    """
    texts = {code: text[language] for code, text in NOTICE.items()}
    links = texts["links"].format(report=report, run=run)
    if drop.state == "repeated":
        what = texts["same"].format(drop=drop.same_as)
        return Notice(texts["title"].format(inbox=inbox, drop=drop.id, what=what), (links,))
    what = ", ".join(
        f"{counts[state]} {words[language][counts[state] > 1]}"
        for state, words in OUTCOMES.items()
        if counts[state]
    )
    rows = sum(counts.values())
    refused = [texts["refused"]] if drop.state == "refused" else []
    return Notice(
        texts["title"].format(
            inbox=inbox, drop=drop.id, what=", ".join([*refused, what or texts["none"]])
        ),
        (
            *([texts["rows"][rows > 1].format(rows=rows, what=what)] if what else []),
            *([texts["correct"]] if counts["rejected"] else []),
            *([texts["decide"]] if counts["needs_review"] else []),
            *([] if what else [texts["unread"]]),
            f"Plan {plan[:12]}",
            links,
        ),
    )
