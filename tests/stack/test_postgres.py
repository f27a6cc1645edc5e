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
from stack.processes import Children, sweep, until


class Server:
    def __init__(self, folder: Path) -> None:
        self.mark = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
        self.children = Children(self.mark, folder)
        self.postgres = Postgres(folder / "postgres", self.mark)

    def start(self) -> None:
        if not self.postgres.exists:
            cluster = self.postgres.initialise(self.children)
            assert until(cluster.finished, 60)
            self.postgres.adopt()
        self.postgres.start(self.children)
        assert until(self.postgres.ready, 30)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that the server's user can reach, unlike pytest's own under root."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    found = Server(folder)
    yield found
    found.postgres.stop()
    sweep(found.mark)


def test_made_started_stopped_and_started_again(server: Server) -> None:
    server.start()
    url = server.postgres.url("bms")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
    server.postgres.stop()
    assert not list(server.postgres.data.glob(".s.PGSQL*"))
    assert not (server.postgres.data / "postmaster.pid").exists()
    server.start()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT one FROM kept").fetchall() == [(1,)]
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    assert stat.S_IMODE(server.postgres.data.stat().st_mode) == 0o700


def test_server_of_a_killed_launcher_is_ended_and_its_traces_removed(server: Server) -> None:
    server.start()
    assert server.postgres.child is not None
    left = psutil.Process(server.postgres.child.process.pid)
    family = [left, *left.children()]
    again = Postgres(server.postgres.data, server.mark)
    again.end_leftovers()
    server.postgres.child.process.wait()
    zombie = psutil.STATUS_ZOMBIE
    assert not [p for p in family if p.is_running() and p.status() != zombie]
    assert not (server.postgres.data / "postmaster.pid").exists()
    server.start()


def test_half_made_cluster_is_made_anew(server: Server) -> None:
    cluster = server.postgres.initialise(server.children)
    assert until((server.postgres.data.with_name("postgres.draft") / "global").exists, 30)
    cluster.process.kill()
    cluster.process.wait()
    assert not server.postgres.exists
    sweep(server.mark)
    server.start()
    assert server.postgres.exists


def test_path_too_long_for_a_socket_gets_a_short_one_that_goes_again(folder: Path) -> None:
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
        sweep(server.mark)
    assert not short.exists()


def test_pid_file_that_names_another_process_ends_nothing(server: Server) -> None:
    server.postgres.data.mkdir()
    pid_file = server.postgres.data / "postmaster.pid"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        pid_file.write_text(f"{other.pid}\n")
        server.postgres.end_leftovers()
        assert other.poll() is None
        other.kill()
    assert not pid_file.exists()
