"""Simulated drops: files dropped, changed and taken on a real folder, runs that die or pause.

Archive and claims are the real ones: a folder, in memory if the machine has one, and a warehouse whose
clock is virtual. Before each operation on a file, the run may die, a user may change the inbox, or another
run may take its turn, as if this run were paused past its lease.
"""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, BinaryIO, Final
from unittest.mock import patch
from uuid import UUID

from sqlalchemy import Engine, select, text
from upath import UPath

from bms_flows.onboarding.inbox import archive as archiving
from bms_flows.onboarding.inbox import claim, closing
from bms_flows.onboarding.inbox import discovery as inbox
from bms_flows.onboarding.inbox.archive import FileChanged
from bms_flows.onboarding.inbox.claim import ENDED, LIFE, Drop, Ending
from bms_warehouse import database
from bms_warehouse.locks import Busy, LeaseLost
from bms_warehouse.tables import dropped_file
from proofs.simulation.clock import EPOCH
from proofs.simulation.process import Killed
from proofs.simulation.recorder import Recorder, draws
from tests.support.warehouse_server import warehouse_server

EFFECTS: Final = {"open", "os.link", "os.rename", "os.remove"}
"""What Python's audit calls the things done to files; replacing is a renaming to it."""
MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder of our own is made below it
RESOURCE: Final = "employee"
PATIENCE: Final = 12

_before_effect: Callable[[], None] | None = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if (
        _before_effect is not None
        and event in EFFECTS
        and str(arguments[0]).startswith(str(_root()))
    ):
        _before_effect()


@cache
def _root() -> Path:
    """Make this process's folder, and observe all later file operations."""
    root = Path(tempfile.mkdtemp(prefix="bms-drops-", dir=MEMORY if MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    sys.addaudithook(_audit)
    return root


@cache
def warehouse() -> Engine:
    """Start a PostgreSQL server for this process; return a warehouse."""
    running = ExitStack()
    atexit.register(running.close)
    return database.connect(running.enter_context(warehouse_server(durable=False)).warehouse())


@dataclass
class World:
    """The folder, the claims, who does what to them, and what was dropped."""

    random: Random
    recorder: Recorder
    folder: Path
    warehouse: Engine
    now: datetime = EPOCH
    versions: dict[str, bytes] = field(default_factory=dict)
    """What was dropped, by the stamp of the file."""
    kept_by_people: list[bytes] = field(default_factory=list)
    """Contents that no user overwrote or removed in the inbox: they must be processed."""
    writers: dict[Path, tuple[BinaryIO, datetime]] = field(default_factory=dict)
    """Handles by which programs may still write to a file that looks complete, and when it was dropped."""
    read: list[tuple[int, bytes]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    depth: int = 0
    written: int = 0
    dying: bool = False
    quiet: bool = False

    @property
    def inbox(self) -> Path:
        """Where files are dropped."""
        return self.folder / "inbox"

    @property
    def drops(self) -> list[Drop]:
        """The rows of `bms.dropped_file`."""
        rows = select(dropped_file).order_by(dropped_file.c.id)
        with self.warehouse.connect() as connection:
            return [Drop.of(row) for row in connection.execute(rows).mappings()]

    def drop(self, name: str) -> None:
        """Write a file, replacing a file of its name."""
        content = b"%d\r\n" % self.random.randint(1, 4) * self.random.randint(1, 3)
        path = self.inbox / name
        self._removed(path)
        stream = path.open("wb+", buffering=0)
        self._write(stream, b"", content)
        self.writers[path] = stream, self.now
        self.recorder.note(f"{name} is dropped, {len(content)} bytes")

    def write_on(self, path: Path) -> None:
        """Add a line to a file that the program which wrote it has not closed."""
        stream, since = self.writers.pop(path)
        with stream:
            if self.now - since < LIFE:
                content = os.pread(stream.fileno(), 1 << 10, 0)
                self.kept_by_people.remove(content)
                self._write(stream, content, b"9\r\n")
                self.recorder.counts["files written to after they looked complete"] += 1
                self.recorder.note(f"{path.name} goes on, {len(content)} bytes before")

    def _write(self, stream: BinaryIO, before: bytes, content: bytes) -> None:
        self.written += 1
        stream.write(content)
        stamp = 10**18 + self.written
        os.utime(stream.fileno(), ns=(stamp, stamp))
        self.versions[str(stamp)] = before + content
        self.kept_by_people.append(before + content)

    def remove(self, name: str) -> None:
        """Take a file out of the inbox again."""
        path = self.inbox / name
        if path.exists():
            self._removed(path)
            path.unlink()
            self.recorder.note(f"{name} is taken out again")

    def _removed(self, path: Path) -> None:
        if writer := self.writers.pop(path, None):
            writer[0].close()
        if path.exists() and (content := path.read_bytes()) in self.kept_by_people:
            self.kept_by_people.remove(content)

    def interrupt(self) -> None:
        """Have something happen before a run's next effect: often nothing."""
        if self.dying:
            raise Killed  # what is dead cleans nothing up
        chance = self.random.random()
        if self.quiet or chance > 0.3:  # noqa: PLR2004 - a share
            return
        if chance < 0.1:  # noqa: PLR2004 - a share
            self.recorder.counts["runs killed"] += 1
            self.dying = True
            raise Killed
        with _interrupted(None):
            self._others_act()

    def _others_act(self) -> None:
        if self.writers and self.random.random() < 0.3:  # noqa: PLR2004 - a share
            self.write_on(self.random.choice([*self.writers]))
        elif self.random.random() < 0.5:  # noqa: PLR2004 - a share
            name = self.random.choice(("a.csv", "b.csv"))
            self.random.choice((self.drop, self.remove))(name)
        elif self.depth < 2:  # noqa: PLR2004 - runs that are paused at once
            self.recorder.counts["runs that paused past their lease"] += 1
            self.now += 2 * LIFE
            for drop in self.drops:
                if drop.state == "open":
                    self.run(drop.id, f"drop-{drop.id}-other-{self.random.randint(1, 2)}")

    def dispatch(self) -> None:
        """Enter the files of the inbox and process open drops, like dispatcher and runs."""
        for number in archiving.orphaned_drops(UPath(self.inbox)):
            drop, folder = claim.get(self.warehouse, number), UPath(self.inbox)
            if drop.archive is not None:
                expired = drop.expires_at < self.now
                archiving.release(folder, UPath(self.folder / "archive"), drop, expired=expired)
            elif drop.state != "open":
                archiving.return_to_inbox(folder, drop)
        for seen in inbox.list_files(UPath(self.inbox)).values():
            with suppress(Busy):
                drop = claim.claim_file(self.warehouse, RESOURCE, seen)
                if drop.state in ENDED:  # the same file again, unchanged
                    claim.claim_again(self.warehouse, drop)
        for drop in self.drops:
            if drop.state == "open":
                self.run(drop.id, drop.dag_run_id)

    def run(self, number: int, run_id: str) -> None:
        """Work a drop off once, as one try of its run."""
        self.depth += 1
        self.recorder.counts["attempts"] += 1
        try:
            self._work(claim.reopen(self.warehouse, number, run_id))
        except (Busy, LeaseLost, FileChanged, FileNotFoundError, FileExistsError, Killed) as end:
            self.recorder.counts[f"attempts ended by {type(end).__name__}"] += 1
            lying = ", ".join(sorted(each.name for each in self.inbox.iterdir()))
            self.recorder.note(f"{run_id} at drop {number}: {type(end).__name__}; there: {lying}")
            if isinstance(end, FileChanged):
                with suppress(LeaseLost):
                    closing.withdraw(self.warehouse, claim.get(self.warehouse, number), "changed")
        finally:
            self.depth -= 1
            self.dying = False

    def _work(self, held: Drop) -> None:
        inbox, archive = UPath(self.inbox), UPath(self.folder / "archive")
        with _interrupted(self.interrupt):
            archived = archiving.move_to_archive(inbox, archive, held)
        content = archived.read_bytes()
        digest = sha256(content).hexdigest()
        earlier = closing.record_content(self.warehouse, held, sha256=digest, archive=str(archived))
        if content != self.versions[held.stamp]:
            self.wrong.append(f"drop {held.id} was read as something that was never dropped")
        self.read.append((held.id, content))
        counts = dict.fromkeys(("created", "adopted", "already_there"), 1)
        with self.warehouse.begin() as connection:
            ending: Ending = "repeated" if earlier else "applied"
            closing.finish(connection, held, ending, counts=counts)
        self.recorder.note(f"{held.dag_run_id} at drop {held.id}: {len(content)} bytes processed")


@contextmanager
def _interrupted(by: Callable[[], None] | None) -> Iterator[None]:
    """Call `by` before each effect on a file in the block; None: no interruptions."""
    global _before_effect  # noqa: PLW0603 - Python's audit has one hook for the process
    outer, _before_effect = _before_effect, by
    try:
        yield
    finally:
        _before_effect = outer


def broken(seed: int, recorder: Recorder) -> list[str]:
    """Play the drops of `seed`; return the laws they broke."""
    with tempfile.TemporaryDirectory(dir=_root()) as folder:
        world = World(draws(seed), recorder, Path(folder), warehouse())
        with world.warehouse.begin() as connection:
            connection.execute(text("truncate bms.dropped_file restart identity cascade"))
        names = patch("uuid.uuid4", lambda: UUID(int=world.random.getrandbits(128), version=4))
        with names, patch.object(claim, "clock", lambda _: world.now):
            world.inbox.mkdir()
            for _ in range(world.random.randint(1, 4)):
                world.drop(world.random.choice(("a.csv", "a.csv", "b.csv")))
                world.dispatch()
                if world.writers and world.random.random() < 0.5:  # noqa: PLR2004 - a share
                    world.write_on(world.random.choice([*world.writers]))
                world.now += timedelta(minutes=world.random.choice((1, 30)))
            world.quiet = True
            for _ in range(PATIENCE):
                world.dispatch()
                world.now += 2 * LIFE
            for stream, _ in world.writers.values():
                stream.close()
            return [*world.wrong, *_wrong(world)]


def _wrong(world: World) -> Iterator[str]:
    if left := [each.name for each in world.inbox.iterdir()]:
        yield f"left in the inbox: {left}"
    drops = world.drops
    if any(drop.state == "open" for drop in drops):
        yield "a drop is stuck"
    read = {content for _, content in world.read}
    for content in world.kept_by_people:
        if content not in read:
            yield f"{len(content)} bytes that were dropped and left alone were never read"
    applied = [drop.sha256 for drop in drops if drop.state == "applied"]
    if len(applied) != len(set(applied)):
        yield "the same content was processed twice"
    yield from _wrong_archive(world.folder / "archive", drops, world.versions)


def _wrong_archive(
    archive: Path, drops: Iterable[Drop], versions: Mapping[str, bytes]
) -> Iterator[str]:
    for drop in drops:
        if drop.state in ("applied", "repeated") and not Path(str(drop.archive)).exists():
            yield f"the original of drop {drop.id} is not in the archive"
    for archived in archive.rglob("*.csv"):
        if archived.read_bytes() not in versions.values():
            yield "the archive holds what was never dropped"
        if archived.stat().st_mode & 0o077:
            yield "others may read the archive"
