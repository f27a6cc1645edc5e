"""A Singer tap piped into the target for PostgreSQL, `target-postgres` of Meltano Labs, with COPY and upsert.

Both processes' start belongs to the time: it is how Singer runs. One request at a time, as the SDK has it.
"""

import json
import subprocess
import sys
from pathlib import Path

from task import SCHEMA, Task, given, timed

HERE = Path(__file__).parent


def load(task: Task) -> None:
    """Load once."""
    tap, target = task.folder / "tap.json", task.folder / "target.json"
    first = task.first.isoformat()
    asked = {"work": task.work, "url": task.url, "first": first, "days": task.days}
    asked |= {"window": task.window, "page_size": task.page_size}
    tap.write_text(json.dumps(asked))
    address = task.database.replace("postgresql:", "postgresql+psycopg:")
    config = {"sqlalchemy_url": address, "default_target_schema": SCHEMA, "use_copy": True}
    target.write_text(json.dumps(config))
    log = task.folder / "singer.log"
    with log.open("w") as lines:
        reading = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, HERE / "singer_tap.py", "--config", tap],
            stdout=subprocess.PIPE,
            stderr=lines,
        )
        writing = subprocess.run(  # noqa: S603 - the peer's own program
            [Path(sys.executable).with_name("target-postgres"), "--config", target],
            stdin=reading.stdout,
            stdout=subprocess.DEVNULL,
            stderr=lines,
            check=False,
        )
    if reading.wait() or writing.returncode:
        raise RuntimeError(f"the tap or the target failed:\n{log.read_text()[-4000:]}")


if __name__ == "__main__":
    task = given()
    timed(lambda: load(task))
