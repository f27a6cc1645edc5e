import hashlib
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from stack.postgres import Postgres
from stack.processes import Children, kill_tagged, until
from tests.support.patience import LONG_S


class Server:
    def __init__(self, folder: Path) -> None:
        self.tag = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
        self.children = Children(self.tag, folder)
        self.postgres = Postgres(folder / "postgres", self.tag)

    def start(self) -> None:
        if not self.postgres.exists:
            cluster = self.postgres.init_cluster(self.children)
            assert until(cluster.finished, LONG_S)
            self.postgres.install_cluster()
        self.postgres.start(self.children)
        assert until(self.postgres.ready, LONG_S)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that the server's user can reach; under root, pytest's own is not."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    found = Server(folder)
    yield found
    found.postgres.stop()
    kill_tagged(found.tag)


def test_data_survives_a_restart_and_the_end_of_a_killed_launcher(server: Server) -> None:
    server.start()
    url = server.postgres.url("bms")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE saved AS SELECT 1 AS one")
    server.postgres.stop()
    assert not list(server.postgres.data.glob(".s.PGSQL*"))
    assert not (server.postgres.data / "postmaster.pid").exists()
    server.start()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT one FROM saved").fetchall() == [(1,)]
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    assert stat.S_IMODE(server.postgres.data.stat().st_mode) == 0o700

    assert server.postgres.child is not None
    leftover = psutil.Process(server.postgres.child.process.pid)
    family = [leftover, *leftover.children()]
    Postgres(server.postgres.data, server.tag).kill_leftovers()
    server.postgres.child.process.wait()
    zombie = psutil.STATUS_ZOMBIE
    assert not [p for p in family if p.is_running() and p.status() != zombie]
    assert not (server.postgres.data / "postmaster.pid").exists()
    server.start()


def test_interrupted_initdb_is_repeated(server: Server) -> None:
    cluster = server.postgres.init_cluster(server.children)
    assert until((server.postgres.data.with_name("postgres.tmp") / "global").exists, LONG_S)
    cluster.process.kill()
    cluster.process.wait()
    assert not server.postgres.exists
    kill_tagged(server.tag)
    server.start()
    assert server.postgres.exists


def test_long_path_uses_a_short_socket_folder_that_is_removed_afterwards(folder: Path) -> None:
    deep = folder / ("long-" * 16) / ("path-" * 8)
    deep.mkdir(parents=True)
    server = Server(deep)
    try:
        server.start()
        short = server.postgres.socket_folder
        assert len(os.fsencode(short)) < 40
        assert stat.S_IMODE(short.stat().st_mode) == 0o700
        with psycopg.connect(server.postgres.url("airflow")) as connection:
            assert connection.execute("SELECT current_database()").fetchone() == ("airflow",)
    finally:
        server.postgres.stop()
        kill_tagged(server.tag)
    assert not short.exists()


def test_process_with_a_reused_pid_is_not_killed(server: Server) -> None:
    server.postgres.data.mkdir()
    pid_file = server.postgres.data / "postmaster.pid"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        pid_file.write_text(f"{other.pid}\n")
        server.postgres.kill_leftovers()
        assert other.poll() is None
        other.kill()
    assert not pid_file.exists()
