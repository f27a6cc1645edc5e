"""Program that runs one DAG with an operator for each operation of the service.

It creates Airflow's tables in the database that the environment names, runs the DAG in process and
prints the states of the tasks as JSON on its last line.
"""

import json
import sys

from airflow.sdk import DAG, CronDataIntervalTimetable
from airflow.utils.db import initdb

from bms_provider.operators.access import BmsCheckAccessOperator
from bms_provider.operators.consultants import (
    BmsCreateConsultantOperator,
    BmsListConsultantsOperator,
    BmsReadConsultantOperator,
)
from bms_provider.operators.contacts import (
    BmsCreateContactOperator,
    BmsListContactsOperator,
    BmsReadContactOperator,
)
from bms_provider.operators.employees import (
    BmsCreateEmployeeOperator,
    BmsListEmployeesOperator,
    BmsReadEmployeeOperator,
)
from bms_provider.operators.invoices import BmsListClientInvoicesOperator

with DAG(
    "all_operators",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
) as dag:
    check = BmsCheckAccessOperator(task_id="check_access")
    employee = BmsCreateEmployeeOperator(task_id="create_employee", body_path="in/employee.json")
    employees = BmsListEmployeesOperator(task_id="list_employees", id_entity=1, filter="ALL")
    read_employee = BmsReadEmployeeOperator(
        task_id="read_employee",
        guid_employee="{{ ti.xcom_pull('create_employee')['guid_employee'] }}",
    )
    contact = BmsCreateContactOperator(task_id="create_contact", body_path="in/contact.json")
    contacts = BmsListContactsOperator(task_id="list_contacts", filter="ALL")
    read_contact = BmsReadContactOperator(
        task_id="read_contact", id_contact="{{ ti.xcom_pull('create_contact')['id'] }}"
    )
    consultant = BmsCreateConsultantOperator.partial(task_id="create_consultant").expand(
        body_path=["in/consultant.json"]
    )
    consultants = BmsListConsultantsOperator(task_id="list_consultants")
    read_consultant = BmsReadConsultantOperator(
        task_id="read_consultant",
        id_consultant="{{ ti.xcom_pull('create_consultant', map_indexes=0)['id'] }}",
    )
    invoices = BmsListClientInvoicesOperator(
        task_id="list_client_invoices",
        id_entity=2,
        first_day="{{ data_interval_start | ds }}",
        last_day="{{ data_interval_end | ds }}",
    )
    check >> [employee, contact, consultant, invoices]
    employee >> [employees, read_employee]
    contact >> [contacts, read_contact]
    consultant >> [consultants, read_consultant]


if __name__ == "__main__":
    import pendulum

    initdb()
    run = dag.test(logical_date=pendulum.datetime(2026, 3, 2))
    sys.stdout.write(
        "\n" + json.dumps({ti.task_id: str(ti.state) for ti in run.get_task_instances()}) + "\n"
    )
