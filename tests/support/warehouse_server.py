"""Embedded PostgreSQL server for proofs and benchmarks, which they can stop, start and fill."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import psycopg
from sqlalchemy import make_url

from bms_warehouse import database, migration
from stack.postgres import Postgres, serving
from stack.processes import Children, until
from tests.support.patience import LONG_S

Stop = Literal["fast", "immediate"]


class WarehouseServer:
    """A PostgreSQL server whose databases are copies of one migrated template."""

    def __init__(self, server: Postgres, children: Children, folder: Path) -> None:
        self._server = server
        self._children = children
        self.uri = server.url("postgres")
        self.folder = folder
        self._made = 0
        self._execute("create database bms_template")
        template = database.connect(self._named("bms_template"))
        migration.migrate(template)
        template.dispose()

    def warehouse(self, like: str | None = None, tables: str = "pg_default") -> str:
        """Return the URI of a new warehouse: empty, or a copy of the one at `like`, in a tablespace."""
        self._made += 1
        name = f"bench_{self._made}"
        template = make_url(like).database if like else "bms_template"
        # With the default strategy, a sequence repeats numbers after a crash.
        self._execute(
            f"create database {name} template {template} strategy file_copy tablespace {tables}"
        )
        return self._named(name)

    def drop(self, uri: str) -> None:
        """Remove a warehouse and free its disk space."""
        self._execute(f"drop database {make_url(uri).database} with (force)")
        self._execute("checkpoint")

    def on_disk(self, folder: Path) -> str:
        """Return the name of a tablespace in an empty folder."""
        data = self._server.data.stat()
        os.chown(folder, data.st_uid, data.st_gid)
        self._execute(f"create tablespace {folder.name} location '{folder}'")
        return folder.name

    def off_disk(self, tables: str) -> None:
        """Remove an empty tablespace."""
        self._execute(f"drop tablespace {tables}")

    def stop(self, how: Stop = "fast") -> None:
        """Stop the server: end sessions (`fast`), or abort at once (`immediate`)."""
        assert self._server.child is not None
        process = self._server.child.process
        process.send_signal(signal.SIGINT if how == "fast" else signal.SIGQUIT)
        process.wait()
        self._server.stop()  # remove its files

    def start(self) -> None:
        """Start the server, which recovers from an abort."""
        self._server.start(self._children)
        if not until(self._server.ready, LONG_S):
            raise RuntimeError("PostgreSQL did not start")

    def revive(self) -> None:
        """Wait until a crashed server answers again; start it if it exited."""
        assert self._server.child is not None
        process = self._server.child.process
        if not until(lambda: process.poll() is not None or self._connects(), LONG_S):
            raise RuntimeError("PostgreSQL neither restarted nor exited")
        if process.poll() is not None:
            self._server.stop()  # remove its files
            self.start()

    @contextmanager
    def log_in(self, folder: Path) -> Iterator[Path]:
        """Move the server's log (WAL) to `folder` for the block; yield its path."""
        own, other = self._server.data / "pg_wal", folder / "pg_wal"
        self.stop()
        _copied(own, other)
        shutil.rmtree(own)
        own.symlink_to(other)
        try:
            self.start()
            yield other
        finally:
            self.stop()
            own.unlink()
            _copied(other, own)
            self.start()

    @property
    def pid(self) -> int:
        """The server's process, parent of its sessions."""
        assert self._server.child is not None
        return self._server.child.process.pid

    def _connects(self) -> bool:
        try:
            psycopg.connect(self.uri).close()
        except psycopg.OperationalError:
            return False
        return True

    def _named(self, name: str) -> str:
        return make_url(self.uri).set(database=name).render_as_string(hide_password=False)

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.uri, autocommit=True) as connection:
            connection.execute(statement.encode())


def _copied(folder: Path, into: Path) -> None:
    """Copy a folder with its files' owners."""
    subprocess.run(["cp", "-a", folder, into], check=True)  # noqa: S603, S607 - ours


@contextmanager
def warehouse_server(*, durable: bool = True) -> Iterator[WarehouseServer]:
    """Run a PostgreSQL server for the block; delete its data and `folder` afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="bms-bench-"))
    try:
        with serving(folder, f"bench-{os.getpid()}", LONG_S, durable=durable) as (server, children):
            yield WarehouseServer(server, children, folder)
    finally:
        shutil.rmtree(folder)
