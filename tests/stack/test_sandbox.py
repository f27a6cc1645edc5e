import json

from stack.place import Keys
from stack.sandbox import Sandbox

KEYS = Keys("pw", "fernet", "jwt", "api", "drawn-client", "drawn-secret")


def test_connection_leads_to_the_sandbox_with_its_own_credentials_and_an_explicit_port() -> None:
    sandbox = Sandbox.of({}, KEYS, 4712)
    connection = sandbox.connection()
    assert connection["host"] == "http://127.0.0.1:4712"
    assert connection["port"] == 4712
    assert connection["login"] == sandbox.environment["BMS_SANDBOX_CLIENT_ID"] == "drawn-client"
    assert connection["password"] == sandbox.environment["BMS_SANDBOX_SECRET"] == "drawn-secret"
    extra = json.loads(connection["extra"])
    assert extra["application_id"] == sandbox.environment["BMS_SANDBOX_APPLICATION_ID"]
    assert extra["entities"] == [1, 2]


def test_preset_credentials_of_the_sandbox_reach_the_connection_too() -> None:
    given = {"BMS_SANDBOX_CLIENT_ID": "mine", "BMS_SANDBOX_SECRET": "own-secret"}
    connection = Sandbox.of(given, KEYS, 4712).connection()
    assert (connection["login"], connection["password"]) == ("mine", "own-secret")


def test_secret_is_neither_on_the_command_line_nor_in_a_repr() -> None:
    sandbox = Sandbox.of({}, KEYS, 4712)
    assert "drawn-secret" not in " ".join(sandbox.command)
    assert "drawn-secret" not in repr(sandbox)
