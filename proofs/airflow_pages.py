"""Pages of Airflow and of the board that the proof of a fresh installation visits in Chromium."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from bms_sandbox.serve import Sandbox
from proofs.plain_airflow import PATIENCE, PlainAirflow
from stack import airflow as components
from stack.processes import until


class AirflowPages:
    """A browser window with a signed-in user; screenshots go to the folder `pictures`, if given."""

    def __init__(self, browser: Browser, airflow: PlainAirflow, pictures: Path | None) -> None:
        self.page = browser.new_page(base_url=airflow.url, viewport={"width": 1280, "height": 900})
        self.page.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        self.airflow = airflow
        self.pictures = pictures
        self._sign_in()

    def add_connection(self, sandbox: Sandbox) -> None:
        """Add the connection `bms_default` with its form."""
        given = sandbox.credentials
        self.page.goto("/connections")
        self.page.get_by_role("button", name="Add Connection").click()
        form = self.page.get_by_role("dialog")
        form.locator("[name=connection_id]").fill("bms_default")
        form.get_by_role("combobox").fill("Business Management Service")
        self.page.keyboard.press("Enter")
        expect(form.get_by_text("Base URL", exact=True)).to_be_visible()
        fields = {
            "host": sandbox.url,
            "port": sandbox.url.rpartition(":")[2],
            "login": given.client_id,
            "password": given.secret,
        }
        for name, value in fields.items():
            form.locator(f"[name={name}]").fill(value)
        form.get_by_text("Extra Fields", exact=True).click()
        form.locator("[name=element_application_id]").fill(given.application_id)
        form.locator("[name=element_entities]").fill("1, 2")
        self._picture("form")
        form.get_by_role("button", name="Save").click()
        expect(self.page.get_by_role("row").filter(has_text="bms_default")).to_be_visible()

    def test_connection(self) -> None:
        """Click Test; Airflow shows that a token was received."""
        row = self.page.get_by_role("row").filter(has_text="bms_default")
        row.get_by_label("Test Connection").click()
        expect(self.page.get_by_text("Token received")).to_be_visible()
        self._picture("test")

    def extract(self) -> None:
        """Unpause and trigger invoice_extraction; wait for its success."""
        self.airflow.command("airflow", "dags", "unpause", "invoice_extraction")
        self.page.goto("/dags/invoice_extraction")
        self.page.get_by_role("button", name="Trigger Dag").click()
        form = self.page.get_by_role("dialog")
        form.locator("[name=element_start_date]").fill("2026-03-02")
        form.locator("[name=element_end_date]").fill("2026-03-04")
        with self.page.expect_response("**/dagRuns") as asked:
            form.get_by_role("button", name="Trigger", exact=True).click()
        run_id = asked.value.json()["dag_run_id"]
        self.page.goto(f"/dags/invoice_extraction/runs/{run_id}")
        expect(self.page.get_by_role("row").filter(has_text="Success")).to_have_count(
            4, timeout=1000 * PATIENCE
        )
        self._picture("extraction")

    def triggered_run(self) -> None:
        """Wait for a successful run of the foreign DAG and show it."""
        path = "/dags/team_report/dagRuns?state=success&limit=1"
        assert until(lambda: bool(self.airflow.api(path)["dag_runs"]), PATIENCE), "no run"
        (run,) = self.airflow.api(path)["dag_runs"]
        assert run["run_type"] == "asset_triggered", run["run_type"]
        self.page.goto(f"/dags/team_report/runs/{run['dag_run_id']}")
        expect(self.page.get_by_role("row").filter(has_text="Success")).to_have_count(1)
        self._picture("foreign")

    def board(self) -> None:
        """Open the board; it shows the load."""
        self.page.goto("/plugin/bms")
        board = self.page.frame_locator("iframe")
        expect(board.get_by_text("Client invoices").first).to_be_visible()
        self._picture("board")

    def _sign_in(self) -> None:
        """Sign in."""
        self.page.goto("/")
        self.page.get_by_label("Username").fill(components.USER)
        self.page.get_by_label("Password").fill(self.airflow.secrets.password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"{self.airflow.url}/")

    def _picture(self, name: str) -> None:
        """Save a screenshot if a folder is given."""
        if self.pictures:
            self.page.wait_for_timeout(1000)
            self.page.screenshot(path=self.pictures / f"fresh-{name}.png")
