"""Plan files: each row as read, with its action and reasons, for Excel and for the board."""

from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.planning.matching import PlanningView
from bms_flows.onboarding.planning.planner import make
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reporting.approval_request import plan_file, read_plan_file
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.resources.remotes import Employees
from tests.support.excel import formulas

CONTENT = (
    "Matricule;Nom;Prénom;Entité;Date d'entrée;_reason_fr\r\n"
    "004217;Dupré;Zoé;1;04/01/2027;\r\n"
    "004218;=cmd|'/C calc'!A0;Léa;1;2027-01-05;\r\n"
    "004219;Côté;Ève;un;2027-01-06;Entité : nombre\r\n"
).encode("cp1252")


def test_the_file_has_the_values_as_read_and_the_reasons() -> None:
    sheet = read(CONTENT, "a.csv", EMPLOYEE)
    view = PlanningView({}, {}, [])
    plan = make(sheet, EMPLOYEE, Employees.identity, rules.read(EMPLOYEE), view)
    content = plan_file(plan, sheet)
    assert formulas(content.decode("utf-8-sig")) == []
    headers, rows = read_plan_file(content)
    assert headers == ["Matricule", "Nom", "Prénom", "Entité", "Date d'entrée"]
    assert [(row.line, row.action) for row in rows] == [
        ("2", "create"),
        ("3", "rejected"),
        ("4", "rejected"),
    ]
    assert rows[0].cells == ["004217", "Dupré", "Zoé", "1", "2027-01-04"]
    assert rows[1].cells[1] == "=cmd|'/C calc'!A0"
    assert rows[2].cells == ["004219", "Côté", "Ève", "un", "2027-01-06"]
    assert rows[2].reason_fr.startswith("Entité\xa0: ")
    assert rows[2].reason_en.startswith("Entité: ")
    assert not rows[0].reason_fr
