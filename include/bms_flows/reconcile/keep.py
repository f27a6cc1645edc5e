"""The audit's word on each day, kept in `bms.reconciliation`; one alarm for each that is open."""

from collections.abc import Mapping
from datetime import UTC, date, datetime

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from bms_flows import alarms
from bms_flows.reconcile.compare import Tally
from bms_flows.runs import Step
from bms_warehouse.tables import reconciliation


def keep(
    connection: Connection,
    resource: str,
    id_entity: int,
    tallies: Mapping[date, Tally],
    step: Step,
    run_id: int,
) -> None:
    """Keep the word on each day within the caller's transaction; raise or recover the alarm.

    A day that could not be compared keeps the word of an earlier audit that could.
    """
    now = datetime.now(UTC)
    for day, tally in tallies.items():
        row = insert(reconciliation).values(
            resource=resource,
            id_entity=id_entity,
            day=day,
            state=tally.state,
            because=tally.because,
            found=dict(tally.found),
            pending=dict(tally.pending),
            rows_compared=tally.compared,
            changed_meanwhile=tally.changed,
            waiting=sorted(tally.waiting),
            checked_at=now,
            run_id=run_id,
        )
        key = [column.name for column in reconciliation.primary_key]
        renewed = {each.name: each for each in row.excluded if each.name not in key}
        connection.execute(
            row.on_conflict_do_update(
                index_elements=key,
                set_=renewed,
                where=reconciliation.c.state == "not_checked"
                if tally.state == "not_checked"
                else None,
            )
        )
    _ring(connection, resource, id_entity, step)


def _ring(connection: Connection, resource: str, id_entity: int, step: Step) -> None:
    """Tell of the days that are not reconciled, until an audit finds none of them left.

    Of a resource without days of its own, the latest audit that compared anything counts.
    """
    word = reconciliation.c
    query = (
        select(word.day, word.found)
        .where(word.resource == resource, word.id_entity == id_entity)
        .order_by(word.day)
    )
    if resource == "client_invoice":
        query = query.where(word.state == "not_reconciled")
        found = connection.execute(query).all()
    else:
        query = query.where(word.state != "not_checked")
        found = [row for row in connection.execute(query).all()[-1:] if row.found]
    subject = f"{resource} {id_entity}" if id_entity else resource
    if not found:
        alarms.recover(connection, f"reconciliation {subject}")
        return
    codes = sorted({code for _, counts in found for code in counts})
    rows = sum(sum(counts.values()) for _, counts in found)
    days = f"{len(found)} days from {found[0].day} to {found[-1].day}"
    alarms.raise_(
        connection,
        "not_reconciled",
        f"reconciliation {subject}",
        detail=f"{days if len(found) > 1 else found[0].day}: {', '.join(codes)}; rows: {rows}.",
        flow=step.flow,
        dag_run_id=step.dag_run_id,
    )
