import os
import select
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection

import pytest

from bms_sandbox.serve import running
from bms_sandbox.tokens import Credentials
from tests.bms_sandbox.caller import Caller


def test_running_takes_dialect_faults_options_and_credentials() -> None:
    own = Credentials("É client", "app", "a secret of its own")
    with running(
        dialect={"granted_scopes": ["read:contact"], "one_live_token": True},
        faults=["503@read_contact:count=1"],
        options=("--contacts", "7", "--frozen"),
        credentials=own,
    ) as sandbox:
        caller = Caller(sandbox)
        assert caller.login().json()["scope"] == ["read:contact"]
        assert [caller.get("/v1/CRM/contacts/1001").status for _ in range(2)] == [503, 200]
        assert sandbox.truth()["rows"]["contacts"] == 7
        process = sandbox.process
    assert process is not None
    assert process.returncode == 0


def test_responses_on_a_persistent_connection_have_no_delayed_ack() -> None:
    """A kernel that gathers small chunks keeps every answer back for 40 ms, after the first ones."""
    with running() as sandbox:
        connection = HTTPConnection(sandbox.url.removeprefix("http://"))
        seconds = []
        for _ in range(60):
            started = time.perf_counter()
            connection.request("GET", "/v1/CRM/contacts/1001")
            connection.getresponse().read()
            seconds.append(time.perf_counter() - started)
        connection.close()
    assert min(seconds[30:]) < 0.03


def test_an_invalid_option_is_reported_with_its_reason(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="exit status 2"), running(dialect={"nulls": "blank"}):
        pytest.fail("it must not start")
    assert "nulls can't be 'blank'" in capfd.readouterr().err


def test_the_sandbox_ends_with_its_parent_process() -> None:
    script = (
        "import time\nfrom bms_sandbox.serve import running\n"
        "with running() as s:\n    print(s.process.pid, flush=True)\n    time.sleep(3600)\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:  # noqa: S603 -> ours
        assert parent.stdout is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
        ended, _, _ = select.select([child], [], [])
        os.close(child)
    assert ended


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_it_cleanly(number: int) -> None:
    command = [sys.executable, "-m", "bms_sandbox", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 -> our own module
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(number)
        assert process.wait() == 0
