"""Pictures of the board for the documentation, from a lively warehouse, light and dark.

If BMS_PICTURES names a folder, the pictures are saved there.
"""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect
from sqlalchemy import Engine, text

from tests.bms_provider.board import history
from tests.bms_provider.board.conftest import Visit

BOARD = "http://board.example/airflow"

pytestmark = [pytest.mark.services, pytest.mark.prove]

LIVELY = """
update bms.step_run step set started_at = started_at + shift, finished_at = finished_at + shift
from (select flow as name, now() - interval '40 minutes' - max(finished_at) as shift from bms.step_run group by flow) as latest
where name = flow and flow not in ('contact_sync', 'employee_onboarding');
update bms.step_run set state = 'complete', reason = null where started_at > now() - interval '2 days';
update bms.step_run set state = 'suspect', reason = 'fewer_than_usual: ' || window_end || ' has 31 invoices, usually 118 to 126.'
where flow = 'invoice_extraction' and id_entity = 2 and window_end = current_date - 1;
delete from bms.step_run where flow = 'contact_sync' and started_at > now() - interval '4 hours';
update bms.creation set state = 'created', remote_id = id where drop_id <> 102 and state in ('review', 'unknown');
update bms.alarm set recovered_at = now();
"""
"""Of today: a held load and a late flow; quarantined rows and a plan to approve are in the history."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_board_shows_a_lively_day(
    browser: Browser, visit: Visit, warehouse: Engine, data_root: Path, scheme: str
) -> None:
    history.fill(warehouse, days=60)
    with warehouse.begin() as connection:
        connection.execute(text(LIVELY))
    client = visit("user")

    def answer(route: Route) -> None:
        found = client.get(route.request.url.removeprefix(BOARD))
        route.fulfill(status=found.status_code, headers=dict(found.headers), body=found.content)

    page = browser.new_page(color_scheme=scheme, viewport={"width": 1100, "height": 700})  # type: ignore[arg-type]  # one of two words
    page.route("**/*", answer)
    page.goto(f"{BOARD}/bms/")
    for shown in ("waits for approval", "late", "held"):
        expect(page.get_by_text(shown).first).to_be_visible()
    folder = Path(os.environ.get("BMS_PICTURES") or data_root)
    bottom = page.locator("#totals").bounding_box()
    assert bottom
    clip = {"x": 0, "y": 0, "width": 1100, "height": bottom["y"]}
    page.screenshot(path=folder / f"board-{scheme}.png", full_page=True, clip=clip)  # type: ignore[arg-type]  # floats
    quarantine = page.locator("section", has=page.get_by_role("heading", name="Quarantined"))
    quarantine.last.screenshot(path=folder / f"quarantine-{scheme}.png")
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=folder / f"board-phone-{scheme}.png")
    page.close()
