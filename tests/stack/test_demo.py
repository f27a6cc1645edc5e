import json
from pathlib import Path

from stack import demo


def test_json_log_of_a_failed_task_is_printed_as_text(tmp_path: Path) -> None:
    log = tmp_path / "attempt=1.log"
    failure = {
        "level": "error",
        "event": "Task failed with exception",
        "error_detail": [{"exc_type": "MissingScope", "exc_value": "needs read:invoice_client"}],
    }
    log.write_text("no json\n" + json.dumps(failure) + "\n")
    assert demo._readable(log).splitlines() == [
        f"Last lines of {log}:",
        "  no json",
        "  error: Task failed with exception",
        "    MissingScope: needs read:invoice_client",
    ]
