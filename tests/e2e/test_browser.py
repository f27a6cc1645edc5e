"""Airflow's UI in a browser: connection form, connection test, trigger form, a successful run.

If BMS_PICTURES names a folder, the tests save the README's screenshots there.
"""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from bms_provider.provider_info import CONNECTION_FIELDS
from stack.launcher import Running
from tests.e2e.airflow_api import query

# The first test waits for the whole start.
pytestmark = pytest.mark.services

DAYS = ("2026-03-02", "2026-03-04")


def test_the_form_of_a_new_connection_shows_every_field_with_its_label(
    page: Page, picture: Callable[[str], None]
) -> None:
    page.goto("/connections")
    page.get_by_role("button", name="Add Connection").click()
    form = page.get_by_role("dialog")
    form.get_by_role("combobox").fill("Business Management Service")
    page.keyboard.press("Enter")
    for label in ("Base URL", "Client ID", "Secret", "Port"):
        expect(form.get_by_text(label, exact=True)).to_be_visible()
    expect(form.get_by_text("Schema", exact=True)).to_have_count(0)
    form.get_by_text("Extra Fields", exact=True).click()
    for name in CONNECTION_FIELDS:
        expect_field(form, name)
    page.set_viewport_size({"width": 1280, "height": 1100})
    picture("connection")


def test_the_form_of_the_stored_connection_shows_its_extras_and_not_its_secret(
    page: Page, stack: Running
) -> None:
    connection_row(page).get_by_label("Edit Connection").click()
    form = page.get_by_role("dialog")
    expect(form.get_by_text("Secret", exact=True)).to_be_visible()
    keys = stack.paths.load_secrets()
    fields = [field.input_value() for field in form.locator("input:not([type=hidden])").all()]
    assert keys.sandbox_client in fields
    assert keys.sandbox_secret not in page.content()
    assert keys.sandbox_secret not in fields
    form.get_by_text("Extra Fields", exact=True).click()
    for name in CONNECTION_FIELDS:
        expect_field(form, name)


def test_the_connection_test_lists_the_granted_scopes(
    page: Page, picture: Callable[[str], None]
) -> None:
    connection_row(page).get_by_label("Test Connection").click()
    result = page.get_by_text("Token received, valid for 3600 seconds. Granted: read:consultant")
    expect(result).to_be_visible()
    expect(result).to_contain_text("Missing: none.")
    page.set_viewport_size({"width": 1280, "height": 500})
    result.hover()  # it stays while the mouse is on it
    picture("test")


def test_a_run_triggered_with_its_form_goes_green_and_loads_the_days(
    page: Page, stack: Running, picture: Callable[[str], None]
) -> None:
    page.goto("/dags/invoice_extraction")
    page.get_by_role("button", name="Trigger Dag").click()
    form = page.get_by_role("dialog")
    labels = ("Entities", "First day", "Last day", "Language", "Days to look back")
    for label in labels:
        expect(form.get_by_text(label, exact=True)).to_be_visible()
    form.locator("[name=element_start_date]").fill(DAYS[0])
    form.locator("[name=element_end_date]").fill(DAYS[1])
    page.set_viewport_size({"width": 1280, "height": 1300})
    picture("trigger")
    with page.expect_response("**/dagRuns") as asked:
        form.get_by_role("button", name="Trigger", exact=True).click()
    run_id = asked.value.json()["dag_run_id"]
    page.set_viewport_size({"width": 1280, "height": 800})

    page.goto(f"/dags/invoice_extraction/runs/{run_id}")
    green = page.get_by_role("row").filter(has_text="Success")
    expect(green).to_have_count(4)  # access, plan, one for each entity
    loaded = query(
        stack,
        "select id_entity, window_start::text, window_end::text, rows_read > 0 from bms.step_run"
        " where dag_run_id = %s and step = 'extract' and state = 'complete' order by 1",
        run_id,
    )
    assert loaded == [(1, *DAYS, True), (2, *DAYS, True)]

    page.goto("/dags/invoice_extraction")
    expect(page.get_by_text(re.compile(r"^Last (\d+ )?Dag Runs?$"))).to_be_visible()
    picture("grid")


def test_the_dag_page_shows_its_documentation(page: Page) -> None:
    page.goto("/dags/invoice_extraction")
    page.get_by_role("button", name="Dag Docs").click()
    text = page.get_by_role("dialog")
    expect(text).to_contain_text("Loads client invoices into the warehouse.")
    expect(text.locator("li").first).to_be_visible()  # its Markdown is rendered
    expect(text.locator("code", has_text="bms.client_invoice")).to_be_visible()


def connection_row(page: Page) -> Locator:
    """Return the row of `bms_default` on the Connections page."""
    page.goto("/connections")
    return page.get_by_role("row").filter(has_text="bms_default")


def expect_field(form: Locator, name: str) -> None:
    """Expect the label and the help of one field of the connection."""
    field = CONNECTION_FIELDS[name]
    label = form.get_by_text(str(field["label"]), exact=True)
    expect(label).to_be_visible()
    expect(form.get_by_text(str(field["description"]), exact=True)).to_be_visible()
