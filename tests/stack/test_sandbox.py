import json

from stack.paths import Secrets
from stack.sandbox import Sandbox

SECRETS = Secrets("pw", "fernet", "jwt", "api", "generated-client", "generated-secret")


def test_connection_has_the_credentials_and_the_port_of_the_sandbox() -> None:
    sandbox = Sandbox.from_environ({}, SECRETS, 4712)
    environment, connection = sandbox.credentials.environment, sandbox.connection()
    assert connection["host"] == "http://127.0.0.1:4712"
    assert connection["port"] == 4712
    assert connection["login"] == environment["BMS_SANDBOX_CLIENT_ID"] == "generated-client"
    assert connection["password"] == environment["BMS_SANDBOX_SECRET"] == "generated-secret"
    extra = json.loads(connection["extra"])
    assert extra["application_id"] == sandbox.credentials.application_id
    assert extra["entities"] == [1, 2]


def test_connection_has_the_preset_credentials() -> None:
    environ = {"BMS_SANDBOX_CLIENT_ID": "mine", "BMS_SANDBOX_SECRET": "own-secret"}
    connection = Sandbox.from_environ(environ, SECRETS, 4712).connection()
    assert (connection["login"], connection["password"]) == ("mine", "own-secret")


def test_secret_is_neither_on_the_command_line_nor_in_a_repr() -> None:
    sandbox = Sandbox.from_environ({}, SECRETS, 4712)
    assert "generated-secret" not in " ".join(sandbox.command)
    assert "generated-secret" not in repr(sandbox)
