import socket

import pytest

from bms_sandbox.__main__ import main, settings_of
from bms_sandbox.dialect import Dialect
from bms_sandbox.faults import KINDS


def test_help_explains_every_dialect_field_fault_and_shows_examples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    text = capsys.readouterr().out
    for word in (
        *Dialect().as_json(),
        *KINDS,
        "examples:",
        "/_sandbox/truth",
        "BMS_SANDBOX_SECRET",
    ):
        assert word in text


def test_the_environment_sets_credentials_and_help_hides_the_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BMS_SANDBOX_CLIENT_ID", "from-env")
    monkeypatch.setenv("BMS_SANDBOX_SECRET", "hush-hush")
    _, settings = settings_of([])
    assert (settings.credentials.client_id, settings.credentials.secret) == (
        "from-env",
        "hush-hush",
    )
    assert "hush-hush" not in repr(settings)
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "hush-hush" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        ["--dialect", "nulls=blank"],
        ["--dialect", "nulls"],
        ["--fault", "504"],
        ["--today", "yesterday"],
        ["--entities", "a"],
        ["--invoices-per-day", "1000000"],
    ],
)
def test_wrong_option_exits_2(wrong: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        settings_of(wrong)


def test_a_port_in_use_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--port", str(port)]) == 1
    assert f"can't listen on 127.0.0.1:{port}" in capsys.readouterr().err
