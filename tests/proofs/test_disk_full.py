"""Full disks at every moment of a flow, and disks of PostgreSQL that fill up during a load."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from upath import UPath

from bms_flows.monitoring import health as monitoring
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reporting import report
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.runtime.settings import FlowSettings
from bms_sandbox.serve import Sandbox
from bms_warehouse.database import connect
from proofs import flows
from proofs.flows import Act, ContactSync, Creation, Ending, Extraction
from proofs.interruptions import fill_disk, watch
from proofs.kill_invoices import Killing, broken
from tests.bms_flows.onboarding.onboarding import Run, onboard
from tests.proofs.conftest import FILE, Drop
from tests.proofs.story import Story
from tests.support.warehouse_server import WarehouseServer

pytestmark = pytest.mark.prove

Figure = Callable[[str], None]
DEPTH = 5
"""Of a file that an extraction lands: kind, resource, day, step, name."""


@dataclass(frozen=True)
class Reporting:
    """A drop's way to its receipt, and the report about it; points are those of the report."""

    drop: Run
    folder: str

    def __call__(self, at: int | None, act: Act) -> list[str]:
        """Create, then report."""
        outcomes = onboard(self.drop)
        reached = watch(at, act)
        report.write(UPath(self.folder), FILE, read(FILE, "a.csv", EMPLOYEE), outcomes, b"{}")
        return reached


def full(story: Story, point: object, ending: Ending, root: Path) -> None:
    """Take in a run whose disk was full: it named the place, and left nothing half-written."""
    story.took(point, ending)
    if not ending.well and (ending.kind != "DiskFull" or f"{root}" not in ending.text):
        story.found(point, [f"unclear error: {ending.kind}: {ending.text[:200]}"])
    story.found(point, [f"half-written: {each.name}" for each in half_written(root)])


def half_written(root: Path) -> Iterator[Path]:
    """Yield files that are less than whole, and what is left of such."""
    for each in root.rglob("*"):
        answers = each.name.endswith(".json.zst") and each.parent.parent.parent.name == "contact"
        if each.name.endswith(".part"):
            yield each
        elif answers:
            for line in pa.input_stream(str(each), compression="zstd").read().splitlines():
                json.loads(line)
        elif len(each.relative_to(root).parts) == DEPTH and broken(each):
            yield each  # of an extraction


def test_extraction_without_disk_space(
    killing: Killing, here: WarehouseServer, sandbox: Sandbox, tmp_path: Path, figure: Figure
) -> None:
    """At the beginning of each file: raw answers, the reports of finance."""
    story = Story("a disk full where an extraction lands its files")
    points = [at for at, name in enumerate(killing.points) if name in ("File.begin", "os.rename")]
    assert len(points) > 8
    for point in points:
        uri, root = here.warehouse(killing.before), tmp_path / f"point-{point}"
        flow = Extraction(uri, str(root), sandbox.url, "killed")
        full(story, point, flows.run(flow, point, fill_disk), root)
        story.extracted(point, killing, flow)
        here.drop(uri)
    story.report(figure)


def test_sync_without_disk_space(
    here: WarehouseServer, sandbox: Sandbox, tmp_path: Path, figure: Figure
) -> None:
    story = Story("a disk full where a sync lands its answers")
    points = flows.run(ContactSync(here.warehouse(), str(tmp_path / "0"), sandbox.url)).points
    for point in range(0, points, max(1, points // 8)):
        uri, root = here.warehouse(), tmp_path / f"point-{point}"
        flow = ContactSync(uri, str(root), sandbox.url)
        full(story, point, flows.run(flow, point, fill_disk), root)
        story.synced(point, flow, sandbox)
        here.drop(uri)
    story.report(figure)


def test_reports_without_disk_space(drop: Drop, tmp_path: Path, figure: Figure) -> None:
    """created.csv, needs_review.csv, the rejected rows, the receipt: it is there last or not at all."""
    story = Story("a disk full where a drop's report is written")
    run, undisturbed = drop(), tmp_path / "undisturbed"
    flows.well(Creation(run))  # from here on its rows are there, each time
    points = flows.run(Reporting(run, str(undisturbed))).points
    whole = {each.name: each.read_bytes() for each in undisturbed.iterdir()}
    assert points >= len(whole) == 5
    for point in range(points):
        root = tmp_path / f"point-{point}"
        ending = flows.run(Reporting(run, str(root)), point, fill_disk)
        full(story, point, ending, root)
        written = root.iterdir() if root.exists() else ()
        half = [each.name for each in written if each.read_bytes() != whole.get(each.name)]
        story.found(point, [f"half-written: {name}" for name in half])
        if (root / report.RECEIPT).exists() and not ending.well:
            story.found(point, ["a receipt of a report that isn't whole"])
        flows.well(Reporting(run, str(root)))
        if {each.name: each.read_bytes() for each in root.iterdir()} != whole:
            story.found(point, ["the next run wrote another report"])
    story.report(figure)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a separate disk for the block; skip, with the reason, where that is not allowed."""
    folder.mkdir(mode=0o755)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)  # noqa: S603 - as above
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S603, S607 - ours


def test_a_disk_that_is_really_full(
    killing: Killing, here: WarehouseServer, sandbox: Sandbox, tmp_path: Path, figure: Figure
) -> None:
    story = Story("an extraction into a disk of 8 to 56 KB")
    for size in ("8k", "16k", "24k", "32k", "40k", "48k", "56k"):
        uri = here.warehouse(killing.before)
        with small_disk(tmp_path / size, size) as root:
            flow = Extraction(uri, str(root), sandbox.url, "killed")
            full(story, size, flows.run(flow), root)
            left = killing.read_state(uri)
            subprocess.run(["mount", "-o", "remount,size=8m", str(root)], check=True)  # noqa: S603, S607 - ours
            flows.well(flow)
        if left not in (killing.was, killing.will_be) or killing.read_state(uri) != killing.will_be:
            story.found(size, ["another table"])
        here.drop(uri)
    story.report(figure)
    assert any("DiskFull" in each for each in story.endings)


def test_postgresql_without_space_for_its_tables(
    killing: Killing, here: WarehouseServer, sandbox: Sandbox, tmp_path: Path, figure: Figure
) -> None:
    """The tables of this warehouse are on a separate disk, on which a load finds less and less room."""
    story = Story("a disk full where PostgreSQL keeps its tables")
    with small_disk(here.folder / "small", "64m") as disk:
        tables = here.on_disk(disk)
        for room in (0, 16, 48, 96, 160, 240):
            uri = here.warehouse(killing.before, tables)
            ballast = disk / "ballast"
            free = int(subprocess.check_output(["stat", "-f", "-c", "%a", str(disk)])) * 4  # noqa: S603, S607 - ours
            ballast.write_bytes(b"x" * 1024 * max(0, free - room))
            if room < 100:
                engine = connect(uri)
                health, code = monitoring.check(engine, FlowSettings(), notify=True)
                engine.dispose()
                if code != monitoring.UNKNOWN or "free space" not in health["reason"]:
                    story.found(room, [f"the health check reports {health}"])
            flow = Extraction(uri, str(tmp_path / f"{room}"), sandbox.url, "killed")
            ending = flows.run(flow)
            story.took(f"{room} KB", ending)
            if not ending.well and "free space" not in ending.text:
                story.found(room, [f"unclear error: {ending.text[:200]}"])
            ballast.unlink()
            story.extracted(room, killing, flow)
            here.drop(uri)
        here.off_disk(tables)
    story.report(figure)
    assert any("DiskFull" in each for each in story.endings)


SEGMENT = 1 << 24
"""Bytes of a file of PostgreSQL's log."""


def logged(connection: psycopg.Connection) -> int:
    """Return how many bytes of log the server has written, ever."""
    (written,) = connection.execute(
        "select (pg_current_wal_insert_lsn() - '0/0')::bigint"
    ).fetchone() or (0,)
    return int(written)


def fill_log(connection: psycopg.Connection, log: Path, left: int) -> None:
    """Write log until `left` bytes are left of its last segment, and leave no room for another."""

    def write(size: int) -> None:
        # Less than asked for: the heads of pages and records come on top.
        emit = "select pg_logical_emit_message(true, 'proof', repeat('x', %s))"
        connection.execute(emit, [max(1, size - size // 100 - 256)])

    while logged(connection) // SEGMENT < max(number(each) for each in log.glob("[0-9A-F]" * 24)):
        write(1 << 20)
    with suppress(OSError), (log.parent / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(b"x" * 4096)
    while (size := SEGMENT - logged(connection) % SEGMENT - left) > 1 << 12:
        write(size)


def number(segment: Path) -> int:
    """Return the position of a segment in the log, in segments."""
    return int(segment.name[8:16], 16) * 256 + int(segment.name[16:], 16)


def test_postgresql_without_space_for_its_log(
    killing: Killing, here: WarehouseServer, sandbox: Sandbox, tmp_path: Path, figure: Figure
) -> None:
    """There is room for a part of the log that a load needs: PostgreSQL ends in disorder, in mid-load."""
    story = Story("a disk full where PostgreSQL keeps its log")
    with small_disk(here.folder / "log", "160m") as disk, here.log_in(disk) as log:
        uri = here.warehouse(killing.before)
        with psycopg.connect(uri, autocommit=True) as connection:
            before = logged(connection)
            flows.well(Extraction(uri, str(tmp_path / "whole"), sandbox.url, "killed"))
            needed = logged(connection) - before
        here.drop(uri)
        for eighth in range(8):
            uri = here.warehouse(killing.before)
            with psycopg.connect(uri, autocommit=True) as connection:
                fill_log(connection, log, needed * eighth // 8)
            flow = Extraction(uri, str(tmp_path / f"{eighth}"), sandbox.url, "killed")
            story.took(f"{eighth}/8", flows.run(flow))
            (disk / "ballast").unlink()
            here.revive()
            story.extracted(f"{eighth}/8", killing, flow)
            here.drop(uri)
    figure(f"{story}; an extraction writes {needed // 1024} KB of log")
    assert story.wrong == []
    assert story.endings.total() > story.endings["went on"]
