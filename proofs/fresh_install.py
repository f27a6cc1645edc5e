"""Proof: the wheel in a fresh virtual environment with a plain Airflow and a DAG of another team, from installation to removal.

    python -m proofs.fresh_install [--pictures FOLDER]

The proof installs Airflow with pip into a new environment and runs it with one foreign DAG. Then it follows
docs/install/existing-airflow.md: pip installs the wheel, a DAG bundle gets the DAG files, the pages of
Airflow get the connection. A browser sees the form, the Test button, an extraction, the foreign DAG that the
extraction's asset triggers, and the board. Then the wheel is uninstalled: Airflow has no import errors, and
the proof lists what remains and runs the commands that remove it. Figures go to
proofs/results/fresh_install.md. Needs Chromium; takes about seven minutes.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bms_sandbox.serve import Sandbox
from bms_sandbox.serve import running as running_sandbox
from proofs.airflow_pages import AirflowPages
from proofs.leftovers import Leftovers
from proofs.plain_airflow import PATIENCE, PlainAirflow
from stack import airflow as components
from stack.processes import Children, kill_tagged, until
from tests import services
from tests.support.published import stamp

PROJECT = Path(__file__).resolve().parent.parent
RESULT = PROJECT / "proofs/results/fresh_install.md"
FOREIGN = '''"""A DAG of another team: runs after each load of the invoices."""
from airflow.sdk import Asset, dag, task

@dag(schedule=[Asset("bms_client_invoice", uri="x-bms://warehouse/client_invoice")], is_paused_upon_creation=False)
def team_report():
    @task
    def report(triggering_asset_events=None):
        return len(triggering_asset_events)

    report()

team_report()
'''


class Proof:
    """The steps of the proof, with their seconds."""

    def __init__(self, folder: Path, pictures: Path | None) -> None:
        self.folder = folder
        self.pictures = pictures
        self.airflow = PlainAirflow(folder)
        self.steps: list[tuple[str, float]] = []
        self.remains: list[tuple[str, int, str]] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Record a step that succeeds, and print it."""
        began = time.monotonic()
        yield
        self.steps.append((name, time.monotonic() - began))
        print(f"{name}: {self.steps[-1][1]:.0f} s", flush=True)

    def run(self, sandbox: Sandbox) -> None:
        """Run all steps."""
        with self.step("Install a plain Airflow into a new environment"):
            self.install_airflow()
        with self.step("Start this Airflow with a DAG of another team"):
            self.airflow.command("airflow", "db", "migrate")
            self.airflow.start()
            self.wait("the foreign DAG", lambda: self.airflow.dags() == {"team_report"})
            self.airflow.stop()
        with self.step("pip installs the wheel with its constraints"):
            packages = self.airflow.packages()
            (wheel,) = (self.folder / "dist").glob("*.whl")
            self.airflow.command(
                "pip",
                "install",
                "--quiet",
                wheel,
                "--constraint",
                wheel.with_name("constraints.txt"),
            )
            added = self.airflow.packages() - packages
        with self.step("Create the tables, the DAG files, the pool and the warehouse's connection"):
            self.set_up()
        with self.step("Restart Airflow"):
            self.airflow.start()
            self.wait("our DAGs", lambda: len(self.airflow.dags()) > 10)  # noqa: PLR2004 - there are twelve
            assert self.airflow.api("/importErrors")["total_entries"] == 0
        self.in_the_browser(sandbox)
        self.uninstall(added)

    def install_airflow(self) -> None:
        """Create the environment, and build the wheel that is installed later."""
        environment = self.airflow.python.parent.parent
        version = components.version()
        for command in (
            (PROJECT / "scripts/wheel", self.folder / "dist"),
            (sys.executable, "-m", "venv", environment),
            (
                PROJECT / ".venv/bin/uv",
                "pip",
                "install",
                "--quiet",
                "--python",
                self.airflow.python,
                f"apache-airflow[postgres]=={version}",
                "--constraint",
                self.folder / "dist/constraints.txt",
            ),
        ):
            subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - ours
        team = self.airflow.bundles["team"]
        team.mkdir()
        (team / "team_report.py").write_text(FOREIGN)
        assert self.airflow.postgres.init_cluster(self.airflow.processes).process.wait(60) == 0
        self.airflow.postgres.install_cluster()
        self.airflow.postgres.start(Children(self.airflow.mark, self.folder / "logs"))
        assert until(self.airflow.postgres.ready, 60)

    def set_up(self) -> None:
        """Follow the guide's commands."""
        run, warehouse = self.airflow.command, self.airflow.postgres.url("bms")
        run("bms", "migrate", "--url", warehouse)
        self.airflow.bundles["bms"] = self.folder / "bms"
        run("bms", "dags", "--write", self.airflow.bundles["bms"])
        run("airflow", "pools", "set", "bms_service", "32", "Maximum number of requests in flight")
        connection = {
            "conn_type": "postgres",
            "host": str(self.airflow.postgres.socket_folder),
            "login": "postgres",
            "schema": "bms",
        }
        run("airflow", "connections", "add", "bms_warehouse", "--conn-json", json.dumps(connection))

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for a condition, and fail with its name."""
        assert until(condition, PATIENCE), f"{what} did not appear"

    def in_the_browser(self, sandbox: Sandbox) -> None:
        """See form, Test, extraction, foreign DAG and board in Chromium."""
        with services.browser() as browser:
            pages = AirflowPages(browser, self.airflow, self.pictures)
            with self.step("Browser: fill the form of the connection and save it"):
                pages.add_connection(sandbox)
            with self.step("Browser: Test shows the granted scopes"):
                pages.test_connection()
            with self.step("Browser: an extraction is triggered and succeeds"):
                pages.extract()
            with self.step("Browser: the foreign DAG ran, triggered by the asset"):
                pages.triggered_run()
            with self.step("Browser: the board shows the load"):
                pages.board()

    def uninstall(self, added: set[str]) -> None:
        """Uninstall the wheel as the guide describes; check Airflow; list and remove what remains."""
        ours = sorted(self.airflow.dags() - {"team_report"})
        with self.step("Uninstall the wheel, without its DAG bundle, and restart Airflow"):
            self.airflow.stop()
            del self.airflow.bundles["bms"]
            self.airflow.command("pip", "uninstall", "--quiet", "--yes", "bms-airflow")
            self.airflow.start()
        with self.step("Airflow has no import errors, and the foreign DAG runs"):
            self.wait("the end of our DAGs", lambda: self.airflow.dags() == {"team_report"})
            assert self.airflow.api("/importErrors")["total_entries"] == 0
            self.airflow.command("airflow", "dags", "trigger", "team_report", "--run-id", "after")
            path = "/dags/team_report/dagRuns/after"
            self.wait(
                "a run of the foreign DAG", lambda: self.airflow.api(path)["state"] == "success"
            )
        with self.step("Remove what remains"):
            self.remove(ours, sorted(added - {"bms-airflow"}))
            self.airflow.stop()

    def remove(self, ours: list[str], packages: list[str]) -> None:
        """List what remains, remove it with its command, and check that it is gone."""
        for each in Leftovers(self.airflow, self.folder / "bms", ours, packages).rows():
            found = each.count()
            each.remove()
            assert each.count() == 0, each.what
            self.remains.append((each.what, found, each.command))
        assert self.airflow.command("airflow", "version").strip() == components.version()

    def report(self) -> str:
        """Return the result as a page."""
        lines = [
            "# Installation into a plain Airflow, and removal",
            "",
            f"{stamp()} Airflow {components.version()}.",
            "",
            "| Step | Seconds |",
            "|---|--:|",
            *(f"| {name} | {seconds:.0f} |" for name, seconds in self.steps),
            "",
            "What remains after `pip uninstall bms-airflow`:",
            "",
            "| What | Found | Removed by |",
            "|---|--:|---|",
            *(f"| {what} | {found} | `{command}` |" for what, found, command in self.remains),
            "",
        ]
        return "\n".join(lines)


def main() -> None:
    """Run the proof in a temporary folder and write its result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pictures", type=Path, help="folder for screenshots")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bms-fresh-"))
    folder.chmod(0o711)  # the database server of a root user passes through it
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        sandbox = stack.enter_context(running_sandbox())
        proof = Proof(folder, given.pictures)
        stack.callback(kill_tagged, proof.airflow.mark)
        stack.callback(proof.airflow.postgres.stop)
        proof.run(sandbox)
    RESULT.write_text(proof.report())
    print(f"\n{proof.report()}")


if __name__ == "__main__":
    main()
