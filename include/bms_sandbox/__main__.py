"""Command line of the sandbox."""

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
import textwrap
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import uvicorn

from bms_sandbox import dialect as dialects
from bms_sandbox import faults, forms
from bms_sandbox.app import sandbox_app
from bms_sandbox.demo_invoices import PER_DAY_MAX, SHAPES, DemoInvoices
from bms_sandbox.demo_records import LISTS
from bms_sandbox.operations import OPERATIONS
from bms_sandbox.serve import DEMO
from bms_sandbox.service import Service, Settings
from bms_sandbox.tokens import VARIABLES, Credentials
from bms_sandbox.transport import Listener, TransportProtocol

BACKLOG = 2048
KEEP_ALIVE_S = 75
"""Seconds that a connection may idle, longer than clients reuse one (aiohttp 15): uvicorn's 5 are shorter."""


def parser() -> argparse.ArgumentParser:
    """Return the parser. No option except --secret is confidential."""
    names = ", ".join(each.name for each in OPERATIONS)
    further = Path(__file__).with_name("help.txt").read_text()
    options = argparse.ArgumentParser(
        prog="python -m bms_sandbox",
        description="Serve the described business management service over HTTP with generated data: "
        "all its operations, dialects for what the interface leaves open, injected faults.",
        epilog=further.format(
            dialects=dialects.describe(),
            forms=forms.describe(),
            faults=faults.describe(),
            operations=textwrap.fill(
                names, 96, initial_indent=" " * 14, subsequent_indent="  "
            ).lstrip(),
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = options.add_argument
    add("--host", default="127.0.0.1", help="address to listen on [%(default)s]")
    add("--port", type=int, default=8090, help="port to listen on, 0: a free one [%(default)s]")
    add("--until-stdin-closes", action="store_true", help="stop when the parent process ends")
    for name, variable in VARIABLES.items():
        add(
            f"--{name.replace('_', '-')}",
            default=os.environ.get(variable, getattr(DEMO, name)),
            help=f"or {variable}, which process lists do not show [{getattr(DEMO, name)}]",
        )
    add("--dialect", action="append", default=[], metavar="NAME=VALUE", help="see below")
    add("--fault", action="append", default=[], metavar="FAULT", help="see below")
    add("--seed", type=int, default=1, help="seed of demo data and faults [%(default)s]")
    add("--today", metavar="DATE", help="start date (or date-time) of the clock instead of now")
    add("--frozen", action="store_true", help="stop the clock until a control request moves it")
    add("--entities", default="1,2", help="id_entity values, comma-separated [%(default)s]")
    add("--invoices-per-day", type=_per_day, default=12, help="on a working day [%(default)s]")
    add("--flat", action="store_true", help="as many invoices every day, weekends included")
    add("--month-end", action="store_true", help="all invoices of a month on its last day")
    add("--shape", choices=SHAPES, default="usual", help="filled fields of invoices [%(default)s]")
    add("--employees", type=int, default=40, help="per entity [%(default)s]")
    for name, demo in LISTS.items():
        add(f"--{name}", type=int, default=demo.size, help="[%(default)s]")
    add("--latency", type=float, default=0.0, help="delay of every request in seconds [0]")
    add("--fast", action="store_true", help="for benchmarks: cache responses, and freeze the clock")
    return options


def settings_of(argv: list[str] | None) -> tuple[argparse.Namespace, Settings]:
    """Return the parsed options and the service settings; exit with status 2 on an invalid option."""
    reader = parser()
    options = reader.parse_args(argv)
    try:
        entities = tuple(int(part) for part in options.entities.split(","))
        settings = Settings(
            credentials=Credentials(options.client_id, options.application_id, options.secret),
            dialect=dialects.Dialect().changed(dialects.parse_options(options.dialect)),
            faults=tuple(faults.Fault.from_option(text) for text in options.fault),
            demo=DemoInvoices(
                options.seed,
                entities,
                options.invoices_per_day,
                options.flat,
                options.month_end,
                options.shape,
            ),
            employees=options.employees,
            lists={name: getattr(options, name) for name in LISTS},
            now=datetime.fromisoformat(options.today) if options.today else None,
            frozen=options.frozen or options.fast,
            latency=options.latency,
            fast=options.fast,
        )
    except ValueError as error:
        reader.error(str(error))
    return options, settings


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGTERM, SIGINT or, with --until-stdin-closes, the end of stdin; return 0."""
    options, settings = settings_of(argv)
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        listening = socket.create_server(
            (options.host, options.port), family=family, backlog=BACKLOG
        )
    except OSError as error:
        sys.stderr.write(f"can't listen on {options.host}:{options.port}: {error.strerror}\n")
        return 1
    with listening:
        # Connections inherit the option. asyncio sets it only on its own sockets; without it, the
        # second chunk of each response waits 40 ms for the client's acknowledgement.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        host = f"[{options.host}]" if family == socket.AF_INET6 else options.host
        url = f"http://{host}:{listening.getsockname()[1]}"
        service = Service(settings)
        server = Server(
            uvicorn.Config(
                sandbox_app(service),
                http=TransportProtocol,
                access_log=False,
                log_level="warning",
                lifespan="off",
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=2,
            ),
            service,
        )
        asyncio.run(server.run_until_stopped(listening, url, options))
    return 0


class Server(uvicorn.Server):
    """uvicorn server that exits with status 0 on a signal and announces when it is ready."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self.service = service

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `run_until_stopped`: uvicorn would raise them again after a clean shutdown."""
        yield

    async def run_until_stopped(
        self, listening: socket.socket, url: str, options: argparse.Namespace
    ) -> None:
        """Serve on `listening`; print `url` when the server is ready."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        if options.until_stdin_closes:
            loop.add_reader(sys.stdin, self._read_stdin)
        self._url = url
        await self.serve(sockets=[listening])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start uvicorn with our own listener, then announce the URL."""
        await super().startup([])
        (listening,) = sockets or []
        self._listener = Listener(listening, BACKLOG, self._protocol)
        self._listener.open()
        self.service.delay_connections = self._listener.pause
        sys.stdout.write(self._url + "\n")
        sys.stdout.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, then shut uvicorn down."""
        self._listener.close()
        await super().shutdown(sockets)

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = TransportProtocol(
            self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made

    def _stop(self) -> None:
        self.should_exit = True

    def _read_stdin(self) -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            self._stop()


def _per_day(text: str) -> int:
    number = int(text)
    if not 0 <= number <= PER_DAY_MAX:
        raise argparse.ArgumentTypeError(f"0 to {PER_DAY_MAX}")
    return number


if __name__ == "__main__":
    raise SystemExit(main())
