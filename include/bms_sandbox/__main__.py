"""Command line of the sandbox service."""

import argparse
import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import uvicorn

from bms_sandbox.app import service_app
from bms_sandbox.clock import Clock
from bms_sandbox.demo import DemoInvoices
from bms_sandbox.dialect import Dialect, parse_options
from bms_sandbox.service import Service
from bms_sandbox.tokens import Credentials


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    env = os.environ.get
    parser = argparse.ArgumentParser(prog="python -m bms_sandbox")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--ready-file", type=Path)
    parser.add_argument("--client-id", default=env("BMS_SANDBOX_CLIENT_ID", "demo-client"))
    parser.add_argument(
        "--application-id", default=env("BMS_SANDBOX_APPLICATION_ID", "demo-application")
    )
    parser.add_argument("--secret", default=env("BMS_SANDBOX_SECRET", "demo-secret"))
    parser.add_argument("--dialect", action="append", default=[], metavar="NAME=VALUE")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the service until SIGTERM or SIGINT."""
    options = _arguments(argv)
    dialect = Dialect().changed(parse_options(options.dialect))
    credentials = Credentials(options.client_id, options.application_id, options.secret)
    app = service_app(Service(credentials, dialect, Clock(), DemoInvoices()))
    with socket.create_server((options.host, options.port)) as listening:
        host, port = listening.getsockname()[:2]
        url = f"http://{host}:{port}"
        server = uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="warning"))
        # uvicorn would raise the signal again after its clean stop, and the exit status with it.
        server.capture_signals = lambda: __import__("contextlib").nullcontext()  # type: ignore[method-assign]

        async def serve() -> None:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, lambda: setattr(server, "should_exit", True))
            if options.ready_file:
                written = options.ready_file.with_suffix(".part")
                written.write_text(url + "\n")
                written.replace(options.ready_file)
            sys.stdout.write(url + "\n")
            sys.stdout.flush()
            await server.serve(sockets=[listening])

        asyncio.run(serve())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
