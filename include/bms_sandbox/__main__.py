"""Command line of the sandbox: the described service as a program of its own."""

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import uvicorn

from bms_sandbox import dialect as dialects
from bms_sandbox import faults, forms
from bms_sandbox.app import sandbox_app
from bms_sandbox.demo import PER_DAY_MAX, DemoInvoices
from bms_sandbox.service import Service, Settings
from bms_sandbox.tokens import Credentials
from bms_sandbox.transport import Door, TransportProtocol

BACKLOG = 2048
EPILOG = f"""
dialect fields (name = readings  [default]):
{dialects.describe()}

forms of stored_forms and shown_forms:
{forms.describe()}

fault kinds, as kind[@operation][:name=value,...]; operations by name or pattern (list_*):
{faults.describe()}
  operations: token, create_employee, list_employees, read_employee, list_client_invoices,
  list_contacts, read_contact, create_contact, list_consultants, read_consultant,
  create_consultant

live control, without login, on the same port:
  GET  /_sandbox/health  /_sandbox/truth  /_sandbox/dialect  /_sandbox/faults
  all of it, with parameters: GET /_sandbox/openapi.json; the service's own: GET /openapi.json

examples:
  python -m bms_sandbox
  BMS_SANDBOX_SECRET=s3cret python -m bms_sandbox --port 0 --ready-file ready --today 2026-03-31
  python -m bms_sandbox --dialect expires_in_unit=milliseconds --dialect end_date=exclusive
  python -m bms_sandbox --fault '503@list_*:count=2' --fault latency:probability=0.1,seconds=2
  python -m bms_sandbox --fast --flat --invoices-per-day 1000 --latency 0.05

  curl -s localhost:8090/v1/token -H 'content-type: application/json' \\
    -d '{{"client_id":"demo-client","application_id":"demo-application","secret":"demo-secret"}}'
  curl -s -X PATCH localhost:8090/_sandbox/dialect -H 'content-type: application/json' \\
    -d '{{"nulls":"absent"}}'
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser; every option but --secret may be shown to anyone."""
    env = os.environ.get
    options = argparse.ArgumentParser(
        prog="python -m bms_sandbox",
        description="Serve the described business management service, with made-up data, over "
        "HTTP: all eleven operations, any reading of the interface's gaps, faults on purpose.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = options.add_argument
    add("--host", default="127.0.0.1", help="address to listen on [%(default)s]")
    add("--port", type=int, default=8090, help="port to listen on, 0: a free one [%(default)s]")
    add("--ready-file", type=Path, help="file that gets the URL, whole, once it is served")
    add("--until-stdin-closes", action="store_true", help="stop when stdin ends: with its parent")
    add(
        "--client-id",
        default=env("BMS_SANDBOX_CLIENT_ID", "demo-client"),
        help="or BMS_SANDBOX_CLIENT_ID [%(default)s]",
    )
    add(
        "--application-id",
        default=env("BMS_SANDBOX_APPLICATION_ID", "demo-application"),
        help="or BMS_SANDBOX_APPLICATION_ID [%(default)s]",
    )
    add(
        "--secret",
        default=env("BMS_SANDBOX_SECRET", "demo-secret"),
        help="better given as BMS_SANDBOX_SECRET, which no process list shows [demo-secret]",
    )
    add("--dialect", action="append", default=[], metavar="NAME=VALUE", help="see below")
    add("--fault", action="append", default=[], metavar="FAULT", help="see below")
    add("--seed", type=int, default=1, help="of demo data and faults [%(default)s]")
    add("--today", metavar="DATE", help="start the clock here instead of now (or date-time)")
    add("--frozen", action="store_true", help="the clock stands still until moved")
    add("--entities", default="1,2", help="id_entity values, comma-separated [%(default)s]")
    add("--invoices-per-day", type=_per_day, default=12, help="on a working day [%(default)s]")
    add("--flat", action="store_true", help="exactly that many on every day, weekends too")
    add("--employees", type=int, default=40, help="per entity [%(default)s]")
    add("--contacts", type=int, default=250, help="[%(default)s]")
    add("--consultants", type=int, default=120, help="[%(default)s]")
    add("--latency", type=float, default=0.0, help="seconds that every request waits [0]")
    add("--latency-jitter", type=float, default=0.0, help="up to so many seconds more [0]")
    add("--fast", action="store_true", help="for benchmarks: answers kept as bytes; clock frozen")
    return options


def settings_of(argv: list[str] | None) -> tuple[argparse.Namespace, Settings]:
    """Return the parsed options and the service settings in them; exit 2 on a wrong one."""
    reader = parser()
    options = reader.parse_args(argv)
    try:
        entities = tuple(int(part) for part in options.entities.split(","))
        settings = Settings(
            credentials=Credentials(options.client_id, options.application_id, options.secret),
            dialect=dialects.Dialect().changed(dialects.parse_options(options.dialect)),
            faults=tuple(faults.Fault.from_option(text) for text in options.fault),
            demo=DemoInvoices(options.seed, entities, options.invoices_per_day, options.flat),
            employees=options.employees,
            contacts=options.contacts,
            consultants=options.consultants,
            now=datetime.fromisoformat(options.today) if options.today else None,
            frozen=options.frozen or options.fast,
            latency=options.latency,
            latency_jitter=options.latency_jitter,
            fast=options.fast,
        )
    except ValueError as error:
        reader.error(str(error))
    return options, settings


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT (or the end of stdin, if asked); return 0."""
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
        # Inherited by every connection. asyncio does it only for sockets it made itself; without,
        # the second piece of each answer waits 40 ms for the client's acknowledgement.
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
                timeout_graceful_shutdown=2,
            ),
            service,
        )
        asyncio.run(server.run_until_told(listening, url, options))
    return 0


class Server(uvicorn.Server):
    """uvicorn, stopped by signals with exit status 0, telling when it serves."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self.service = service

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to run_until_told: uvicorn would raise them again after its clean stop."""
        yield

    async def run_until_told(
        self, listening: socket.socket, url: str, options: argparse.Namespace
    ) -> None:
        """Serve on `listening`; print `url` and write the ready file as soon as it answers."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        if options.until_stdin_closes:
            loop.add_reader(sys.stdin, self._read_stdin)
        self._announcement = (url, options.ready_file)
        await self.serve(sockets=[listening])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, with accepting of our own, then say so."""
        await super().startup([])
        (listening,) = sockets or []
        self._door = Door(listening, BACKLOG, self._protocol)
        self._door.open()
        self.service.delay_connections = self._door.close_for
        url, ready_file = self._announcement
        if ready_file:
            part = ready_file.with_name(ready_file.name + ".part")
            part.write_text(url + "\n")
            part.replace(ready_file)
        sys.stdout.write(url + "\n")
        sys.stdout.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, then stop as uvicorn does."""
        self._door.close()
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
