"""`bms access`: what the token of a connection allows, outside of a task."""

import json

import pytest

from bms_cli.app import main
from bms_sandbox.serve import DEMO, running


def test_it_shows_scopes_and_never_the_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with running() as sandbox:
        extra = {"application_id": DEMO.application_id}
        form = {"conn_type": "bms", "host": sandbox.url, "login": DEMO.client_id, "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_TEAM", json.dumps({**form, "password": DEMO.secret}))
        assert main(["access", "team"]) == 0
        shown = capsys.readouterr().out
        monkeypatch.setenv("AIRFLOW_CONN_TEAM", json.dumps({**form, "password": "wrong"}))
        assert main(["access", "team", "--json"]) == 2
    assert "Granted: " in shown
    assert "read:contact" in shown
    assert "eyJ" not in shown
    assert json.loads(capsys.readouterr().out)["granted"] is False


def test_a_connection_that_is_nowhere_names_the_remedy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["access", "nowhere"]) == 2
    error = capsys.readouterr().err
    assert "AIRFLOW_CONN_NOWHERE" in error
    assert "airflow connections test nowhere" in error
