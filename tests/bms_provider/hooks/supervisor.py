"""The supervisor's end of a task's socket, as Airflow's own `CommsDecoder` speaks to it."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import CommsDecoder


class Supervisor:
    """Answers a task's messages one after another, each after a delay; stores what it received."""

    def __init__(self, end: socket.socket, connection: dict[str, Any], delay: float) -> None:
        self.messages: list[dict[str, Any]] = []
        self._end, self._connection, self._delay = end, connection, delay

    def serve(self) -> None:
        """Answer until the task closes its end."""
        with self._end.makefile("rb") as stream:
            while length := stream.read(4):
                number, body, *_ = msgspec.msgpack.decode(
                    stream.read(int.from_bytes(length, "big"))
                )
                self.messages.append(body)
                time.sleep(self._delay)
                known = body["type"] == "GetConnection"
                frame = msgspec.msgpack.encode([number, self._connection if known else None, None])
                self._end.sendall(len(frame).to_bytes(4, "big") + frame)

    def received(self, kind: str) -> list[dict[str, Any]]:
        """Return the messages of a type."""
        return [message for message in self.messages if message["type"] == kind]


@contextmanager
def supervised(
    monkeypatch: pytest.MonkeyPatch, connection: dict[str, Any], delay: float = 0.01
) -> Iterator[Supervisor]:
    """Let this process speak to a supervisor, as the process of a task does."""
    ours, theirs = socket.socketpair()
    supervisor = Supervisor(theirs, {"type": "ConnectionResult", **connection}, delay)
    thread = threading.Thread(target=supervisor.serve)
    thread.start()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", CommsDecoder(socket=ours), raising=False)
    try:
        yield supervisor
    finally:
        ours.close()
        thread.join()
        theirs.close()
