"""The tasks of an onboarding, one after the other: their records in the step log, and their errors."""

import csv
import json
import os
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from itertools import product
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import patch

import openpyxl
import pytest
from sqlalchemy import Engine, text
from upath import UPath

from bms_flows.mirror.resources import EMPLOYEES
from bms_flows.onboarding.inbox import archive, claim, discovery
from bms_flows.onboarding.inbox.archive import FileChanged
from bms_flows.onboarding.inbox.claim import Superseded
from bms_flows.onboarding.inboxes import Inbox
from bms_flows.onboarding.onboarding import RowsWaiting
from bms_flows.onboarding.planning.approval import NotApproved
from bms_flows.privacy.erase import erase
from bms_flows.runtime.manifest import NoManifest, OtherVersion
from bms_provider import flow_context
from bms_provider.operators.flows.drops import BmsDispatchInboxOperator, chunks
from bms_sandbox.serve import Sandbox
from bms_warehouse.queries import waiting
from tests.bms_provider.operators.flows.execution import (
    DROP,
    HEADER,
    conclude,
    create,
    done,
    enter,
    plan,
    task_of,
)
from tests.support.sql import execute, fetch, scalar, scalars
from tests.support.workbooks import of_rows, saved

NOBODY_ASKED = {"approved": None, "who": None}


@pytest.fixture(autouse=True)
def connected(
    connected: Callable[..., None],
    warehouse_connection: None,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connected()
    monkeypatch.setenv("BMS_APPROVAL", "never")


def run(run_id: str = "manual__1", **params: Any) -> AbstractContextManager[Any]:
    """A run of employee_onboarding by hand, as its tasks see it."""
    return task_of("employee_onboarding", run_id, params)


@contextmanager
def employees() -> Iterator[Inbox]:
    """The inbox of employees."""
    settings = flow_context.onboarding_settings()
    with flow_context.open_context(settings) as flow:
        yield Inbox(flow, "employee", settings)


def test_each_step_logs_its_service_statistics(
    warehouse: Engine, dropped: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="bms_flows.onboarding.onboarding")
    with run(path=dropped):
        proposed = plan("employee")
        entered = enter(proposed, NOBODY_ASKED)
        applied = [create(entered, chunk) for chunk in entered["chunks"]]
        concluded = conclude(entered)
    assert applied == [{"created": 1}]
    assert concluded["created"] == 1
    planned, created, ended = [line for line in caplog.messages if line.startswith("drop 1")]
    assert planned.startswith("drop 1, plan ")
    assert created == "drop 1, chunk 0: 1 created"
    assert ended.startswith("drop 1: 1 created, 0 adopted, ")
    assert "Dupré" not in caplog.text
    steps = fetch(
        warehouse,
        """select step, state, requests > 0 and latency_p95_ms > 0, token_fetches
            from bms.step_run order by id""",
    )
    # Creating takes a token for the client that reads and one for the client that sends.
    tokens = {"plan": 1, "enter": 1, "create_0": 2, "conclude": 1}
    assert steps == [(step, "complete", True, fetched) for step, fetched in tokens.items()]


def test_a_run_that_waited_across_an_incompatible_upgrade_is_refused_and_continues_as_another(
    dropped: str, warehouse: Engine
) -> None:
    """An approval may take 72 hours; nothing is entered, created or lost."""
    with run(path=dropped):
        planned = plan("employee")
        for version, step in product(
            (None, 0, 2),
            (
                lambda old: enter(old, NOBODY_ASKED),
                lambda old: create({**old, "chunks": [0]}, 0),
                lambda old: conclude({**old, "chunks": [0]}),
            ),
        ):
            with pytest.raises(OtherVersion, match=f"version {version}, .* with drop=1: ") as no:
                step({**planned, "version": version})
            assert not no.value.retriable
    execute(warehouse, "update bms.dropped_file set expires_at = now()")
    with run("manual__2", drop=1):
        assert carry_through(plan("employee"))["created"] == 1


def test_a_task_that_a_user_marked_as_successful_is_named_as_the_cause(dropped: str) -> None:
    nothing: Any = None
    with run(path=dropped):
        for step in (
            lambda: enter(nothing, NOBODY_ASKED),
            lambda: chunks.function(nothing),
            lambda: create(nothing, 0),
        ):
            with pytest.raises(NoManifest, match="a user marked it as successful") as no:
                step()
            assert not no.value.retriable


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "enter the name of a file in the inbox, or the number of a drop"),
        ({"path": "avril.csv"}, "no such file in the inbox; enter its name in the inbox"),
        ({"drop": 77}, "there is no drop 77"),
        ({"path": "../août.csv"}, "enter only the file's name"),
        ({"path": "août.csv", "line": "2"}, "enter both: lines .* and a decision on them"),
        ({"path": "août.csv", "decision": "create"}, "enter both: lines .* and a decision on them"),
        ({"path": "août.csv", "line": "2", "decision": "create"}, "trigger with drop=1 alone"),
        (
            {"path": "août.csv", "line": "2", "decision": "create", "dry_run": True},
            "switch the dry run off",
        ),
    ],
)
@pytest.mark.usefixtures("dropped", "warehouse")
def test_a_run_without_a_file_names_the_param_and_is_not_retried(
    given: dict[str, Any], said: str
) -> None:
    with run(**given), pytest.raises((LookupError, ValueError), match=said) as raised:
        plan("employee")
    assert not getattr(raised.value, "retriable", True)


def carry_through(proposed: dict[str, Any], answer: Any = NOBODY_ASKED) -> dict[str, Any]:
    """Do what follows the plan; the answer is to this plan."""
    entered = enter(proposed, {"plan": proposed["plan"], **answer})
    for chunk in entered["chunks"]:
        create(entered, chunk)
    return conclude(entered)


def carried(run_id: str = "manual__1", answer: Any = NOBODY_ASKED, **params: Any) -> dict[str, Any]:
    """Do all that a run does."""
    with run(run_id, **params):
        return carry_through(plan("employee"), answer)


def dispatched() -> list[int]:
    """The numbers of the drops to start; no file changes between the two checks."""
    with run("asset_triggered__1"), patch("time.sleep"):
        return [
            each["conf"]["drop"] for each in done(BmsDispatchInboxOperator, resource="employee")
        ]


def drop_row(warehouse: Engine, number: int = 1) -> Any:
    return fetch(warehouse, "select * from bms.dropped_file where id = :n", n=number)[0]


@pytest.mark.usefixtures("warehouse")
def test_a_name_is_found_however_its_accents_are_encoded(dropped: str, inbox: Path) -> None:
    """A file from macOS has accents as separate characters; a keyboard and a browser compose them."""
    file = inbox / dropped
    file.rename(file.with_name(unicodedata.normalize("NFD", dropped)))
    assert carried(path=unicodedata.normalize("NFC", dropped))["created"] == 1


@pytest.mark.usefixtures("warehouse")
def test_an_orphaned_file_of_an_unknown_drop_is_claimed(dropped: str, inbox: Path) -> None:
    """The warehouse is a new one, the inbox is not."""
    file = inbox / dropped
    file.rename(file.with_name(f"{archive.TAKEN}41-ab-{dropped}"))
    assert dispatched() == [1]
    assert file.exists()


def test_the_same_file_dropped_again_gets_a_report(
    warehouse: Engine, dropped: str, inbox: Path
) -> None:
    file = inbox / dropped
    content, stamp = file.read_bytes(), file.stat().st_mtime_ns
    assert dispatched() == [1]
    carried(taker := drop_row(warehouse).dag_run_id, drop=1)
    assert not file.exists()
    assert dispatched() == []
    typed = unicodedata.normalize("NFD", dropped)
    with run(path=typed), pytest.raises(LookupError, match=f"run {taker} took .* of drop 1, or"):
        plan("employee")
    file.write_bytes(content)
    os.utime(file, ns=(stamp, stamp))  # as most copying programs leave it
    [number] = dispatched()
    carried(drop_row(warehouse, number).dag_run_id, drop=number)
    second = drop_row(warehouse, number)
    assert (second.state, second.same_as, second.report) == (
        "repeated",
        1,
        drop_row(warehouse).report,
    )
    assert not file.exists()


def test_a_number_that_comes_again_is_another_drop(
    warehouse: Engine, dropped: str, data_root: Path, inbox: Path
) -> None:
    """The warehouse is new or restored, with the same files and the same Airflow."""
    file = inbox / dropped
    ended = []
    for name, entered in (("Petit", "2026-04-01"), ("Roux", "2026-04-02")):
        file.write_bytes(DROP.replace("810001;Dupré", f"{name}1;{name}").encode("cp1252"))
        assert dispatched() == [1]
        execute(warehouse, f"update bms.dropped_file set entered_at = '{entered}'")
        row = drop_row(warehouse)
        ended.append(carried(row.dag_run_id, drop=1))
        row = drop_row(warehouse)
        assert name.encode() in (data_root / row.archive).read_bytes()
        assert (data_root / row.report / "receipt.json").exists()
        execute(warehouse, "update bms.dropped_file set expires_at = now()")
        assert dispatched() == []
        execute(warehouse, "truncate bms.dropped_file restart identity cascade")
    assert [each["created"] for each in ended] == [1, 1]
    assert not list(file.parent.glob(f"{archive.TAKEN}*"))
    assert len({each["report"] for each in ended}) == 2


def test_a_run_whose_original_was_erased_ends_with_an_error(
    warehouse: Engine, dropped: str, data_root: Path
) -> None:
    """Its rows are worked off; its report can't be written any more."""
    with run(path=dropped):
        entered = enter(plan("employee"), NOBODY_ASKED)
        assert create(entered, 0) == {"created": 1}
        execute(warehouse, "update bms.dropped_file set expires_at = now()")
        guid = scalar(warehouse, "select remote_id from bms.creation")
        erase(warehouse, UPath(data_root), EMPLOYEES, guid)
        with pytest.raises(FileChanged, match="the original of drop 1 is no longer kept"):
            conclude(entered)
    assert (drop_row(warehouse).state, drop_row(warehouse).reason) == (
        "withdrawn",
        "archive_expired",
    )


def stay_unchanged(warehouse: Engine, minutes: int) -> None:
    """Let `minutes` have passed since a waiting file was written to."""
    execute(
        warehouse,
        "update bms.dropped_file set unchanged_since = now() - :n * interval '1 minute'",
        n=minutes,
    )


def test_a_file_without_a_last_line_break_is_taken_later_and_always_needs_approval(
    warehouse: Engine, sandbox: Sandbox, data_root: Path, inbox: Path
) -> None:
    """Google Sheets exports such files; a copy that broke off looks the same."""
    (inbox / "août.csv").write_bytes(f"{DROP}810002;Cana;Zoé;1;2027-01-04".encode("cp1252"))
    assert dispatched() == []
    assert "août.csv" in (inbox / "_NON_PRIS.txt").read_text("utf-8-sig")
    stay_unchanged(warehouse, 9)
    assert dispatched() == []
    stay_unchanged(warehouse, 10)
    assert dispatched() == [1]
    assert not (inbox / "_NON_PRIS.txt").exists()
    with run(drop_row(warehouse).dag_run_id, drop=1):
        proposed = plan("employee")  # BMS_APPROVAL is never
        assert proposed["ask"]
        assert "ends without a line break in line 3 (5 / 5 cells)" in proposed["text"]
        assert "sans fin de ligne à la ligne 3 (5 sur 5 cellules)" in proposed["question"]["body"]
        assert "Cana" not in str(proposed)
        shown = data_root / drop_row(warehouse).report / "last_line.csv"
        assert shown.read_text("utf-8-sig").splitlines()[1] == "810002;Cana;Zoé;1;2027-01-04"
        assert shown.stat().st_mode & 0o777 == 0o600
        assert not sandbox.truth()["created"]["employees"]
        assert carry_through(proposed, {"approved": True, "who": "ada"})["created"] == 2


def test_the_plan_is_written_before_its_approver_is_asked(
    warehouse: Engine, dropped: str, data_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "always")
    monkeypatch.setenv("BMS_APPROVERS", '{"employees": ["marie"]}')
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com")
    with run(path=dropped):
        proposed = plan("employee")
    question, plan_id = proposed["question"], proposed["plan"][:12]
    assert question["subject"] == "Dépôt 1\xa0: créer 1 salarié\xa0?"
    assert f"(https://airflow.example.com/bms/drops/1/plans/{plan_id})" in question["body"]
    assert question["users"] == ["marie"]
    assert "Dupré" not in str(proposed)
    file = data_root / drop_row(warehouse).report / f"plan-{plan_id}.csv"
    assert "2;create;810001;Dupré;Zoé;1;2027-01-04;" in file.read_text("utf-8-sig")
    assert file.stat().st_mode & 0o777 == 0o600
    with warehouse.connect() as connection:
        [request] = waiting.plans(connection, ["employee"])
    assert request["asked_because"] == [{"code": "setting", "found": "always", "limit": ""}]


def test_an_approval_task_that_was_marked_as_successful_approves_nothing(
    warehouse: Engine, sandbox: Sandbox, dropped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a task has no XCom, so that Airflow passes None. A written XCom is taken for the answer."""
    monkeypatch.setenv("BMS_APPROVAL", "always")
    with run(path=dropped):
        proposed = plan("employee")
        with pytest.raises(NotApproved, match="approve drop 1 has no answer") as raised:
            enter(proposed, None)
        assert not raised.value.retriable
        assert "create_employee" not in sandbox.truth()["requests"]
        assert carry_through(proposed, {"approved": True, "who": "ada"})["created"] == 1
    assert scalars(warehouse, "select decided_by from bms.creation_plan") == ["ada"]


@pytest.mark.parametrize(("approved", "created"), [(True, 1), (False, 0)])
def test_an_answer_to_an_earlier_plan_only_stops_a_plan_that_needs_no_approval(
    approved: bool, created: int, sandbox: Sandbox, dropped: str
) -> None:
    """A user cleared the planning task while the request waited."""
    with run(path=dropped):
        entered = enter(plan("employee"), {"plan": "earlier", "approved": approved, "who": "ada"})
        for chunk in entered["chunks"]:
            create(entered, chunk)
        assert conclude(entered)["created"] == created
    assert len(sandbox.truth()["created"]["employees"]) == created


def test_arguments_of_the_operator_name_the_file_in_a_dag_without_params(
    sandbox: Sandbox, warehouse: Engine, dropped: str, data_root: Path
) -> None:
    with run():
        assert carry_through(plan("employee", path=dropped, plan_only="True"))["created"] == 0
    assert len(list((data_root / drop_row(warehouse).report).glob("plan-*.csv"))) == 1
    assert not sandbox.truth()["created"]["employees"]
    with run("manual__2"):
        assert carry_through(plan("employee", drop="1"))["created"] == 1


def test_a_quote_that_is_never_closed_is_rejected_with_its_line(
    warehouse: Engine, data_root: Path, inbox: Path
) -> None:
    (inbox / "mai.csv").write_text(f'{DROP}810002;"Petit;Léa;1;2027-01-04\r\n{DROP}')
    assert dispatched() == []
    stay_unchanged(warehouse, 10)
    assert dispatched() == [1]
    carried(drop_row(warehouse).dag_run_id, drop=1)
    [_, told] = (
        (data_root / drop_row(warehouse).report / "rejected.csv")
        .read_text("utf-8-sig")
        .splitlines()
    )
    assert told.startswith('"Un guillemet')
    assert ';3;"A quote' in told


def test_hints_of_a_reject_file_are_in_the_language_of_the_inbox(
    warehouse: Engine, data_root: Path, monkeypatch: pytest.MonkeyPatch, inbox: Path
) -> None:
    monkeypatch.setenv("BMS_INBOX_LANGUAGES", '{"employees": "EN"}')
    (inbox / "mai.csv").write_text(f"{HEADER}810002;;Léa;1;2027-01-04\r\n")
    carried(path="mai.csv")
    report = data_root / drop_row(warehouse).report / "rejected.csv"
    [row] = csv.DictReader(report.read_text().splitlines(), delimiter=";")
    assert row["_hint"] == "Correct and drop again."


def workbook(*rows: str, merged: str = "") -> bytes:
    """Return a workbook with the cells of CSV lines."""
    book = of_rows(row.strip().split(";") for row in rows)
    if merged:
        book.active.merge_cells(merged)
    return saved(book)


REPORT = {"created.csv", "needs_review.csv", "receipt.json"}
NO_DATE = "810002;Petit;Léa;1;demain"


@pytest.mark.parametrize(
    ("name", "content", "written", "reason"),
    [
        (
            "a.csv",
            f"{HEADER}{NO_DATE}\r\n".encode(),
            {"rejected.csv", "rejected.xlsx"},
            "Date d'entrée\xa0: Ce n'est pas une date.",
        ),
        ("a.xlsx", workbook(HEADER, NO_DATE), {"rejected.xlsx"}, None),
        (
            "b.xlsx",
            workbook("Salariés", HEADER, NO_DATE, merged="A2:A3"),
            {"rejected.xlsx"},
            "La feuille contient des cellules fusionnées, par exemple A2:A3.",
        ),
        ("c.xlsx", b"%PDF-1.7 \x81", {"rejected.csv"}, "Ce type de fichier n'est pas lu."),
    ],
)
def test_rejected_rows_and_the_reason_of_a_refused_file_are_where_the_guide_of_hr_users_says(
    name: str,
    content: bytes,
    written: set[str],
    reason: str | None,
    warehouse: Engine,
    data_root: Path,
    inbox: Path,
) -> None:
    """docs/fr/depot-rh.md, "Lire le compte rendu"."""
    (inbox / name).write_bytes(content)
    carried(path=name)
    drop = drop_row(warehouse)
    assert drop.state == ("applied" if name.startswith("a.") else "refused")
    details = scalar(warehouse, "select details from bms.step_run where details ? 'file_faults'")
    assert bool(details["file_faults"]) is (drop.state == "refused")
    report = data_root / drop.report
    assert {file.name for file in report.iterdir()} == REPORT | written
    if reason is not None and "rejected.csv" not in written:
        shown: Any = openpyxl.load_workbook(report / "rejected.xlsx").active
        assert any(reason in str(cell) for row in shown.values for cell in row)
    elif reason is not None:
        lines = (report / "rejected.csv").read_text("utf-8-sig").splitlines()
        [row] = csv.DictReader(lines, delimiter=";")
        assert row["_reason_fr"] == reason


@pytest.mark.usefixtures("warehouse")
def test_a_folder_in_the_inbox_is_explained_until_it_is_removed(inbox: Path) -> None:
    (inbox / "mars").mkdir()
    with run(), employees() as inbox_of_employees:
        inbox_of_employees.tidy()
        assert "- mars\r\n" in (inbox / "_NON_PRIS.txt").read_bytes().decode("utf-8-sig")
        (inbox / "mars").rmdir()
        inbox_of_employees.tidy()
    assert not (inbox / "_NON_PRIS.txt").exists()


@pytest.mark.usefixtures("warehouse")
def test_a_file_dropped_again_is_processed_again_once_its_cause_is_corrected(
    sandbox: Sandbox, inbox: Path
) -> None:
    """The manager was missing in the service, not in the file."""
    header = HEADER.replace("\r\n", ";Matricule du responsable\r\n")
    content = header + "810001;Dupré;Zoé;1;2027-01-04;700700\r\n"
    ended = []
    for number in range(3):
        (inbox / "mai.csv").write_text(content)
        ended.append(carried(f"manual__{number}", path="mai.csv"))
        if number == 0:
            sandbox.insert("employees", id_entity=1, payroll_number="700700")
    rejected, created, repeated = ended
    assert (rejected["rejected"], created["created"]) == (1, 1)
    assert repeated["state"] == "same content as drop 2: see its report"


@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize(
    ("variable", "before", "after", "outcome"),
    [
        (
            "BMS_INBOX_FORMATS",
            '{"employees": {"dates": "dmy"}}',
            '{"employees": {"dates": "mdy"}}',
            "needs_review",
        ),
        ("BMS_RULES", "", "[employee.lengths]\nlast_name = 3\n", "rejected"),
    ],
)
def test_the_same_content_is_read_again_after_the_rules_changed(
    variable: str,
    before: str,
    after: str,
    outcome: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    inbox: Path,
) -> None:
    day = "04/01/2027"
    if variable == "BMS_RULES":
        day = "2027-01-04"
        (tmp_path / "rules.toml").write_text(after)
        after = str(tmp_path / "rules.toml")
    ended = []
    for number, setting in enumerate((before, before, after)):
        monkeypatch.setenv(variable, setting)
        (inbox / "mai.csv").write_text(f"{HEADER}810001;Dupré;Zoé;1;{day}\r\n")
        ended.append(carried(f"manual__{number}", path="mai.csv"))
    created, repeated, other = ended
    assert created["created"] == other[outcome] == 1
    assert repeated["state"] == "same content as drop 1: see its report"


@contextmanager
def longest_transaction(warehouse: Engine) -> Iterator[list[float]]:
    """Watch how long a transaction of another session waits for its client, in seconds."""
    seen, ended = [0.0], Event()
    idle = text("""select coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0)
        from pg_stat_activity
        where state = 'idle in transaction' and pid <> pg_backend_pid()
            and datname = current_database()""")

    def watch() -> None:
        while not ended.wait(0.02):
            with warehouse.connect() as connection:
                seen[0] = max(seen[0], float(connection.execute(idle).scalar_one()))

    with ThreadPoolExecutor(1) as threads:
        watching = threads.submit(watch)
        yield seen
        ended.set()
        watching.result()


def test_no_transaction_is_open_while_the_service_is_read(
    warehouse: Engine, sandbox: Sandbox, inbox: Path
) -> None:
    rows = "".join(f"81000{n};Dupré{n};Zoé;1;2027-01-04\r\n" for n in range(4))
    (inbox / "mai.csv").write_text(HEADER + rows)
    with run(path="mai.csv"):
        entered = enter(plan("employee"), NOBODY_ASKED)
        for chunk in entered["chunks"]:
            create(entered, chunk)
        sandbox.set_fault("latency", "read_employee", seconds=4.0)
        with longest_transaction(warehouse) as seen:
            assert conclude(entered)["created"] == 4
    assert seen[0] < 3, "it was open for as long as the service took to answer"


def test_rows_written_after_a_file_was_taken_become_another_drop_which_creates_only_them(
    warehouse: Engine, dropped: str, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No lease shows the writer: it is another user's, or on another machine."""
    monkeypatch.setattr(discovery, "being_written", lambda _: False)
    with (inbox / dropped).open("ab", buffering=0) as export:
        assert dispatched() == [1]
        assert carried(drop_row(warehouse).dag_run_id, drop=1)["created"] == 1
        assert dispatched() == []
        export.write(b"810002;Petit;Zo\xe9;1;2026-04-01\r\n")
    with run(), employees() as inbox_of_employees:
        inbox_of_employees.tidy()
    assert (inbox / dropped).exists(), "it is announced like any other file"
    assert dispatched() == [2]
    ended = carried(drop_row(warehouse, 2).dag_run_id, drop=2)
    assert (ended["created"], ended["already_there"]) == (1, 1)
    execute(warehouse, "update bms.dropped_file set expires_at = now()")
    with run(), employees() as inbox_of_employees:
        inbox_of_employees.tidy()
    assert not [each for each in inbox.iterdir() if each.name.startswith(archive.TAKEN)]


def test_a_file_held_by_another_run_holds_up_no_other(
    warehouse: Engine, dropped: str, inbox: Path
) -> None:
    with run(path=dropped), employees() as inbox_of_employees:
        inbox_of_employees.drop_of_run({"path": dropped}, "manual__1")
    (inbox / "mai.csv").write_bytes(DROP.encode())
    [other] = dispatched()
    assert drop_row(warehouse, other).path == "mai.csv"
    assert drop_row(warehouse).dag_run_id == "manual__1"


def test_a_file_dropped_again_while_its_approver_is_asked_takes_no_drop_from_its_run(
    warehouse: Engine, dropped: str, monkeypatch: pytest.MonkeyPatch, inbox: Path
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "always")
    file = inbox / dropped
    content, stamp = file.read_bytes(), file.stat().st_mtime_ns
    with run(path=dropped):  # started by hand
        proposed = plan("employee")
    execute(warehouse, "update bms.dropped_file set expires_at = now()")
    file.write_bytes(content)
    os.utime(file, ns=(stamp, stamp))  # as most copying programs leave it
    assert dispatched() == []
    with run(path=dropped):
        assert carry_through(proposed, {"approved": True, "who": "ada"})["created"] == 1
    assert [drop_row(warehouse, n).state for n in dispatched()] == ["open"], "the later file"


def test_a_file_whose_run_died_before_it_was_archived_is_started_again(
    warehouse: Engine, dropped: str
) -> None:
    with run(path=dropped), employees() as inbox_of_employees:
        drop = inbox_of_employees.drop_of_run({"path": dropped}, "manual__1")
        claim.mark_started(warehouse, drop.id)
    execute(warehouse, "update bms.dropped_file set expires_at = now()")
    assert dispatched() == [1]
    assert carried(drop_row(warehouse).dag_run_id, drop=1)["created"] == 1
    assert dispatched() == []


def test_a_drop_whose_file_went_ends_with_the_reason(
    warehouse: Engine, dropped: str, inbox: Path
) -> None:
    file = inbox / dropped
    assert dispatched() == [1]
    file.unlink()
    with (
        run(drop_row(warehouse).dag_run_id, drop=1),
        pytest.raises(FileChanged, match="drop it again"),
    ):
        plan("employee")
    assert (drop_row(warehouse).state, drop_row(warehouse).reason) == ("withdrawn", "removed")
    assert drop_row(warehouse).started_at, "its run has begun: none is to be started any more"
    assert dispatched() == []


def test_a_run_whose_drop_was_taken_over_writes_no_report(
    warehouse: Engine, dropped: str, data_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "always")
    with run(path=dropped):
        first = plan("employee")
    execute(warehouse, "update bms.dropped_file set expires_at = now()")
    yes, no = {"approved": True, "who": "ada"}, {"approved": False, "who": "nobody in time"}
    with run("manual__2", drop=1):
        second = plan("employee")
    with run(path=dropped):
        told = conclude(enter(first, no))
        with pytest.raises(Superseded):
            conclude({**first, "chunks": [0]})
    assert told["state"] == "taken over by run manual__2"
    with run("manual__2", drop=1):
        assert carry_through(second, yes)["created"] == 1
    row = drop_row(warehouse)
    written = json.loads((data_root / row.report / "receipt.json").read_bytes())
    assert (row.state, row.counts) == ("applied", written["counts"])


@pytest.mark.parametrize("number_given_again", [False, True])
def test_an_approval_after_a_restore_to_before_the_drop_fails_and_names_the_remedy(
    warehouse: Engine,
    inbox: Path,
    dropped: str,
    number_given_again: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "always")
    with run(path=dropped):
        lost = plan("employee")
    execute(warehouse, "truncate bms.dropped_file, bms.creation_plan restart identity cascade")
    if number_given_again:
        (inbox / "b.csv").write_text(f"{HEADER}810009;Roy;Ana;1;2027-01-04\r\n")
        with run("manual__2", path="b.csv"):
            assert plan("employee")["drop"] == lost["drop"]
    with (
        run(path=dropped),
        pytest.raises(
            LookupError if not number_given_again else NotApproved, match="drop the file again"
        ),
    ):
        enter(lost, {"approved": True, "who": "ada", "plan": lost["plan"]})


def test_a_refused_drop_that_is_triggered_again_waits_on_the_board_but_not_as_a_dry_run(
    warehouse: Engine, dropped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "always")

    def told() -> tuple[list[str], str | None]:
        """The runs that wait for approval on the board, and the last approver."""
        [who] = scalars(warehouse, "select decided_by from bms.creation_plan")
        with warehouse.connect() as connection:
            plans = waiting.plans(connection, ["employee"])
        return [plan["dag_run_id"] for plan in plans], who

    with run("manual__1", path=dropped):
        late = {"approved": False, "who": "nobody in time"}
        carry_through(plan("employee"), late)
    with run("manual__2", drop=1, dry_run=True):
        looked = plan("employee")
        assert "question" not in looked
        assert told() == ([], "nobody in time")
        carry_through(looked)
    with run("manual__3", drop=1):
        asked = plan("employee")
        assert told() == (["manual__3"], None)
        carry_through(asked, {"approved": False, "who": "bob"})
    assert told() == ([], "bob")


@pytest.mark.parametrize("cleared", ["from the chunk on", "completely"])
def test_a_cleared_run_resumes_its_rows_and_reports_their_current_state(
    warehouse: Engine, dropped: str, cleared: str
) -> None:
    with run(path=dropped):
        entered = enter(plan("employee"), NOBODY_ASKED)
        with pytest.raises(RowsWaiting):  # its chunk has failed
            conclude(entered)
        assert drop_row(warehouse).state == "not_applied"
        if cleared == "completely":
            entered = enter(plan("employee"), NOBODY_ASKED)
        create(entered, 0)
        assert conclude(entered)["created"] == 1
        assert drop_row(warehouse).state == "applied"


def test_a_second_change_during_approval_fails_the_run_without_creating_a_row(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, inbox: Path
) -> None:
    monkeypatch.setenv("BMS_APPROVAL", "always")
    names = ("Dupré", "Martin", "Petit")
    existing = [
        sandbox.insert(
            "employees",
            id_entity=1,
            payroll_number=f"81000{n}",
            last_name=name,
            first_name="Zoé",
            start_date="2027-01-04",
        )
        for n, name in enumerate(names)
    ]
    rows = "".join(f"81000{n};{name};Zoé;1;2027-01-04\r\n" for n, name in enumerate(names))
    (inbox / "a.csv").write_bytes((HEADER + rows).encode("cp1252"))
    sandbox.delete("employees", existing[0]["guid_employee"])
    yes = {"approved": True, "who": "ada"}
    with run(path="a.csv"):
        entered = plan("employee")
        for record in existing[1:]:  # once in each round of approval
            sandbox.delete("employees", record["guid_employee"])
            entered = enter(entered, {"plan": entered["plan"], **yes})
            assert (entered["ask"], entered["chunks"]) == (True, [])
        for _ in range(2):  # a retry of the task too
            with pytest.raises(RowsWaiting, match=r"changed again .* drop=1 and approve"):
                conclude(entered)
    assert sandbox.truth()["created"]["employees"] == []
    assert carried("manual__2", drop=1, answer=yes)["created"] == 3
