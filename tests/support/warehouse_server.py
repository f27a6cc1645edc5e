"""What the measurements stand on: an embedded PostgreSQL and a sandbox of their own, and their state."""

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

from bms_warehouse import database
from stack.postgres import Postgres
from stack.processes import Children, until

Stop = Literal["fast", "immediate"]


class WarehouseServer:
    """A PostgreSQL whose databases are made from one migrated template."""

    def __init__(self, server: Postgres, children: Children, folder: Path) -> None:
        self._server = server
        self._children = children
        self._uri = server.url("postgres")
        self.folder = folder
        self._made = 0
        self._execute("create database bms_template")
        template = database.connect(self._named("bms_template"))
        database.migrate(template)
        template.dispose()

    def warehouse(self, like: str | None = None, tables: str = "pg_default") -> str:
        """Return the URI of a new warehouse: empty, or a copy of the one at `like`, in a tablespace."""
        self._made += 1
        name = f"bench_{self._made}"
        template = make_url(like).database if like else "bms_template"
        # Copied through the log (the default), a sequence that then crashes gives its numbers twice.
        self._execute(
            f"create database {name} template {template} strategy file_copy tablespace {tables}"
        )
        return self._named(name)

    def drop(self, uri: str) -> None:
        """Remove a warehouse, and give the disk its space back."""
        self._execute(f"drop database {make_url(uri).database} with (force)")
        self._execute("checkpoint")

    def on_disk(self, folder: Path) -> str:
        """Return the name of a tablespace in an empty folder."""
        data = self._server.data.stat()
        os.chown(folder, data.st_uid, data.st_gid)
        self._execute(f"create tablespace {folder.name} location '{folder}'")
        return folder.name

    def off_disk(self, tables: str) -> None:
        """Remove a tablespace that nothing is in any more."""
        self._execute(f"drop tablespace {tables}")

    def stop(self, how: Stop = "fast") -> None:
        """Stop the server: sessions are ended (`fast`), or all is left as it lies (`immediate`)."""
        assert self._server.child is not None
        process = self._server.child.process
        process.send_signal(signal.SIGINT if how == "fast" else signal.SIGQUIT)
        process.wait(60)
        self._server.stop()  # what it left

    def start(self) -> None:
        """Start the server; what was left lying is recovered."""
        self._server.start(self._children)
        if not until(self._server.ready, 60):
            raise RuntimeError("PostgreSQL did not start")

    def revive(self) -> None:
        """Wait until the server that ended in disorder answers again; start it where it gave up."""
        assert self._server.child is not None
        process = self._server.child.process
        if not until(lambda: process.poll() is not None or self._connects(), 60):
            raise RuntimeError("PostgreSQL neither came back nor ended")
        if process.poll() is not None:
            self._server.stop()  # what it left
            self.start()

    @contextmanager
    def log_in(self, folder: Path) -> Iterator[Path]:
        """Have the server keep its log (WAL) in `folder` for the block; yield where it lies."""
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
        """The server's process; its sessions descend from it."""
        assert self._server.child is not None
        return self._server.child.process.pid

    def _connects(self) -> bool:
        try:
            psycopg.connect(self._uri).close()
        except psycopg.OperationalError:
            return False
        return True

    def _named(self, name: str) -> str:
        return make_url(self._uri).set(database=name).render_as_string(hide_password=False)

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self._uri, autocommit=True) as connection:
            connection.execute(statement.encode())


def _copied(folder: Path, into: Path) -> None:
    """Copy a folder with its files' owners."""
    subprocess.run(["cp", "-a", folder, into], check=True)  # noqa: S603, S607 - ours


@contextmanager
def warehouse_server() -> Iterator[WarehouseServer]:
    """Run a PostgreSQL for the block; its data and all files below `folder` go with it."""
    folder = Path(tempfile.mkdtemp(prefix="bms-bench-"))
    mark = f"bench-{os.getpid()}"
    children = Children(mark, folder)
    server = Postgres(folder / "data", mark)
    try:
        if server.init_cluster(children).process.wait(timeout=120):
            raise RuntimeError("PostgreSQL's data folder could not be made")
        server.install_cluster()
        server.start(children)
        if not until(server.ready, 60):
            raise RuntimeError("PostgreSQL did not start")
        yield WarehouseServer(server, children, folder)
    finally:
        server.stop()
        shutil.rmtree(folder)
