"""An approval as its approver gets it: the mail, the request in Airflow, the plan on the board.

If BMS_PICTURES names a folder, the test saves the documentation's screenshots there.
"""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page

from stack.launcher import Running
from tests.e2e import approver
from tests.e2e.airflow_api import Airflow, inbox_of
from tests.mail_server import mail_server

pytestmark = pytest.mark.prove

START = f"{datetime.now(UTC).year + 1}-01-04"
DROP = (
    "Matricule;Nom;Prénom;Entité;Date d'entrée\r\n"
    f"720001;Durand;Zoé;1;{START}\r\n"
    f"720002;;Sans nom;1;{START}\r\n"
    f"720003;Leroy;Aurélie;1;{START}\r\n"
    f"720004;Morel;Ève;1;{START}\r\n"
)


@pytest.fixture(scope="module")
def seen(stack: Running, signed_in: Page) -> approver.Seen:
    """What the approver of a drop read before approving it."""
    (inbox_of(stack) / "approval.csv").write_bytes(DROP.encode("cp1252"))
    airflow = Airflow(stack)
    with mail_server() as server:
        approver.connect_mail(airflow, server)
        run = airflow.trigger(approver.DAG, path="approval.csv")
        airflow.pause(approver.DAG, paused=False)
        try:
            found = approver.approve(signed_in, airflow, run, server)
            assert airflow.end_of(approver.DAG, run) == "success", airflow.why(approver.DAG, run)
            assert airflow.result(approver.DAG, run, "conclude")["created"] == 3
        finally:
            airflow.pause(approver.DAG, paused=True)
            airflow.call("DELETE", "/connections/bms_mail")
            airflow.close()
    return found


def test_the_approver_reads_figures_in_the_mail_and_rows_on_the_page_of_the_plan(
    seen: approver.Seen,
) -> None:
    assert seen.subject.endswith("créer 3 salariés\xa0?")
    for text in (seen.mail, seen.question):
        assert "3 salariés seront créés, 1 ligne est rejetée." in text
        assert not [name for name in ("Durand", "Leroy", "720001") if name in text]
    for text in (
        "À créer\xa0: 3",
        "Durand",
        "Leroy",
        "Morel",
        "Rejetées\xa0: 1",
        "Nom\xa0: Valeur",
    ):
        assert text in seen.plan
