"""An Airflow DAG with an operator for each operation of the service."""

import importlib

from airflow.sdk import DAG, CronDataIntervalTimetable

from bms.endpoints import ENDPOINTS
from bms_provider.operators.access import BmsCheckAccessOperator

VALUES = {
    "id_entity": 1,
    "filter": "ALL",
    "first_day": "{{ data_interval_start | ds }}",
    "last_day": "{{ data_interval_end | ds }}",
}
"""Values of required arguments."""

with DAG(
    "all_operators",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
) as dag:
    check = BmsCheckAccessOperator(task_id="check_access")
    tasks = {}
    for each in ENDPOINTS:
        if each.kind == "request":
            continue
        plural = each.noun if each.noun.endswith("s") else f"{each.noun}s"
        module = f"bms_provider.operators.{plural.removeprefix('client_')}"
        name = f"Bms{each.name.title().replace('_', '')}Operator"
        kind = getattr(importlib.import_module(module), name)
        body = f"in/{each.noun}.json"
        if each.name == "create_consultant":  # mapped, to test this way as well
            tasks[each.name] = kind.partial(task_id=each.name).expand(body_path=[body])
        elif each.kind == "create":
            tasks[each.name] = kind(task_id=each.name, body_path=body)
        elif each.kind == "read":
            [key] = (param.name for param in each.params)
            member = key if key.startswith("guid_") else "id"
            mapped = ", map_indexes=0" if each.noun == "consultant" else ""
            pulled = f"{{{{ ti.xcom_pull('create_{each.noun}'{mapped})['{member}'] }}}}"
            tasks[each.name] = kind(task_id=each.name, **{key: pulled})
        else:
            names = [kind.renamed.get(p.name, p.name) for p in each.params if p.required]
            given = {arg: VALUES[arg] for arg in ["filter", *names] if arg in kind.template_fields}
            tasks[each.name] = kind(task_id=each.name, **given)
    for name, task in tasks.items():
        first = tasks.get(f"create_{name.partition('_')[2].removesuffix('s')}", check)
        _ = check >> task if task is first else first >> task
