"""Absence of canary values in metrics, lineage, asset events and temporary files."""

import json
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from stack.launcher import Running, running
from tests.e2e.airflow_api import Airflow, inbox_of, until
from tests.e2e.canaries import (
    PHONE,
    PLANTED,
    created,
    drop,
    sandbox_of,
    secrets_of,
    security_and_mail,
    seen,
)
from tests.e2e.conftest import own_environment
from tests.listeners import Statsd, statsd

pytestmark = pytest.mark.prove

LOOK = 0.02
"""Seconds between two listings of the files."""
MIRRORS = ("contact_sync", "consultant_sync", "employee_directory")
DISPATCH, ONBOARDING = "inbox_dispatch", "employee_onboarding"
FLOWS = (*MIRRORS, "invoice_extraction", DISPATCH, ONBOARDING)


@dataclass
class Watched:
    """Files that existed while flows ran."""

    temporary: Path
    data: Path
    looks: int = 0
    contents: dict[Path, bytes] = field(default_factory=dict)
    """Of temporary files, as last seen."""
    modes: dict[Path, int] = field(default_factory=dict)
    """Of half-written files of the data root."""

    def look(self) -> None:
        """Read the files once; ignore files that disappear meanwhile."""
        for path in self.temporary.rglob("*"):
            with suppress(FileNotFoundError):
                if path.is_file():
                    self.contents[path] = path.read_bytes()
        for path in self.data.rglob("*.part"):
            with suppress(FileNotFoundError):
                self.modes[path] = stat.S_IMODE(path.stat().st_mode)
        self.looks += 1


@dataclass
class Played:
    """Traces of successful and failed flows."""

    stack: Running
    planted: Mapping[str, tuple[str, ...]]
    metrics: Statsd
    lineage: Path
    watched: Watched


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    with tempfile.TemporaryDirectory() as folder, statsd() as metrics:
        temporary, lineage = Path(folder, "temporary"), Path(folder, "lineage.jsonl")
        temporary.mkdir()
        given = {
            **own_environment(),
            "TMPDIR": str(temporary),
            "BMS_LOCAL_DIR": f"{folder}/local",
            "BMS_APPROVAL": "never",
            "BMS_SETTLE_S": "1",
            "BMS_EMPLOYEE_DETAILS": "full",
            **metrics.variables,
            "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
                {"type": "file", "log_file_path": str(lineage), "append": True}
            ),
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
            # Runs are those that the test asks for.
            "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
        }
        with running(given) as stack:
            watched = Watched(temporary, Path(stack.data_root.removeprefix("file://")))
            planted = plant(stack)
            with watching(watched):
                play(stack)
            yield Played(stack, planted, metrics, lineage, watched)


def plant(stack: Running) -> Mapping[str, tuple[str, ...]]:
    """Put canary values into every resource of the service and into a drop; return the values."""
    sandbox = sandbox_of(stack)
    name, (security, mail) = PLANTED["name"][0], security_and_mail(999)
    person = {
        "first_name": "Zoe",
        "last_name": name,
        "email": mail,
        "phone_mobile_number": PHONE[0],
    }
    sandbox.insert("contacts", **person)
    sandbox.insert("consultants", **person)
    sandbox.insert(
        "employees",
        id_entity=1,
        last_name=name,
        social_security_number=security,
        personal_email=mail,
        personal_mobile_phone=PHONE[0],
    )
    sandbox.insert_invoice(id_entity=1, client_name=name, invoice_subject=mail)
    return {**PLANTED, "phone": PHONE, **secrets_of(sandbox)}


def play(stack: Running) -> None:
    """Run every flow with personal data twice: successfully, then without permissions."""
    api, sandbox = Airflow(stack), sandbox_of(stack)
    for dag in FLOWS:
        api.pause(dag, paused=False)
    play_once(api, stack, "success", 861)
    assert created(stack, "success.csv") == 3
    sandbox.set_dialect(granted_scopes=[])
    play_once(api, stack, "failed", 862)
    api.close()


def play_once(api: Airflow, stack: Running, state: str, number: int) -> None:
    """Drop a file, run every flow once, check the final state of each."""
    (inbox_of(stack) / f"{state}.csv").write_bytes(drop(state, number))
    known = set(api.runs(ONBOARDING))
    runs = {dag: api.trigger(dag) for dag in FLOWS if dag != ONBOARDING}
    until(lambda: len(api.runs(ONBOARDING)) > len(known), lambda: runs)
    [dropped] = set(api.runs(ONBOARDING)) - known
    started = runs | {ONBOARDING: dropped}
    for dag, run in started.items():
        # Taking a file asks nothing of the service.
        expected = "success" if dag == DISPATCH else state
        assert api.end_of(dag, run) == expected, api.why(dag, run)


@contextmanager
def watching(watched: Watched) -> Iterator[None]:
    """Read the files repeatedly during the block, and once after it."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(LOOK):
            watched.look()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    watched.look()


def test_no_metric_contains_a_canary(played: Played, figure: Callable[[str], None]) -> None:
    lines = list(played.metrics.lines)
    assert any("bms.rows" in line and "resource=employee" in line for line in lines)
    assert any("airflow" in line and "employee_onboarding" in line for line in lines)
    assert [line for line in lines if seen(line, played.planted)] == []
    figure(f"{len(lines)} metrics")


def test_no_lineage_event_contains_a_canary(played: Played, figure: Callable[[str], None]) -> None:
    events = played.lineage.read_text().splitlines()
    assert {json.loads(event)["eventType"] for event in events} >= {"START", "COMPLETE", "FAIL"}
    assert any("employee_onboarding" in event for event in events)
    assert [event for event in events if seen(event, played.planted)] == []
    figure(f"{len(events)} lineage events")


def test_no_asset_event_contains_a_canary(played: Played, figure: Callable[[str], None]) -> None:
    metadata = played.stack.environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
    with psycopg.connect(metadata.replace("+psycopg2", "")) as connection:
        extras = [str(row[0]) for row in connection.execute("select extra from asset_event")]
    assert any("rows_read" in extra for extra in extras)
    assert len(extras) >= len(MIRRORS)
    assert [extra for extra in extras if seen(extra, played.planted)] == []
    figure(f"{len(extras)} asset events with their extra")


def test_no_temporary_file_contains_a_canary(played: Played, figure: Callable[[str], None]) -> None:
    watched = played.watched
    assert watched.looks > 100
    shown = {str(path): seen(each, played.planted) for path, each in watched.contents.items()}
    assert {path: what for path, what in shown.items() if what} == {}
    figure(f"{len(watched.contents)} temporary files, looked at {watched.looks:,} times")


def test_temporary_files_are_private_and_removed(
    played: Played, figure: Callable[[str], None]
) -> None:
    watched = played.watched
    inbox = watched.data / "inbox"  # has templates and notes, which all may read
    private = [mode for path, mode in watched.modes.items() if inbox not in path.parents]
    assert {*private} == {0o600}
    assert list(watched.data.rglob("*.part")) == []
    figure(f"{len(private)} half-written files seen, each 0600")


def test_no_data_file_contains_a_secret_or_is_world_readable(played: Played) -> None:
    secrets = {what: played.planted[what] for what in ("secret", "token")}
    files = [path for path in played.watched.data.rglob("*") if path.is_file()]
    people = [path for path in files if seen(path.read_bytes(), PLANTED)]
    assert people, "what is looked for so is found"
    assert [path for path in files if seen(path.read_bytes(), secrets)] == []
    inbox = played.watched.data / "inbox"
    private = [path for path in people if inbox not in path.parents]
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}
