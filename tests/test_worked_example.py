"""The worked example of CONTRIBUTING: its blocks, applied to a copy, add a resource with a create."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(
    r"^```python\n# (\S+), (?:(before|after|new file) `([^`\n]+)`|at the end)\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

RUN = """
import asyncio, json, os, runpy, sys
from pathlib import Path

from aiohttp import web
from sqlalchemy import text
from upath import UPath

from bms.client import Client
from bms.settings import ClientSettings
from bms.sync_client import SyncClient
from bms_flows.catalog import FLOWS
from bms_flows.mirror.resource import RunOptions
from bms_flows.mirror.resources import MIRRORED, source
from bms_flows.mirror.run import sync
from bms_flows.runtime.context import FlowContext
from bms_flows.runtime.settings import FlowSettings
from bms_flows.runtime.step_log import Step
from airflow.sdk.exceptions import AirflowFailException
from bms_provider.hooks.bms import BmsHook
from bms_provider.operators import suppliers
from bms_warehouse import database
from bms_warehouse.tables import METADATA

ROWS = [{"id": n, "name": f"S{n}", "credit_limit": n + 0.1, "active": True} for n in range(1, 26)]


async def token(_):
    body = {"access_token": "t", "token_type": "Bearer", "expires_in": 3600, "scope": ["read:supplier", "write:supplier"]}
    return web.json_response(body)


async def pages(request):
    number, size = (int(request.query[name]) for name in ("page_number", "page_size"))
    data = ROWS[(number - 1) * size : number * size]
    return web.json_response({"total_pages": -(-len(ROWS) // size), "data": data})


async def detail(request):
    return web.json_response(ROWS[int(request.match_info["id"]) - 1] | {"notes": "from the detail"})


CREATES = []


async def create(request):
    CREATES.append(await request.json())
    if len(CREATES) == 1:
        return web.json_response({"id": 26})
    return web.Response(status=500)  # the record may exist


async def main(uri, folder):
    service = web.Application()
    service.add_routes([
        web.post("/v1/token", token),
        web.get("/v1/CRM/suppliers", pages),
        web.get("/v1/CRM/suppliers/{id}", detail),
        web.post("/v1/CRM/suppliers", create),
    ])
    runner = web.AppRunner(service)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    engine = database.connect(uri)
    METADATA.create_all(engine)
    flow = FlowContext(engine, UPath(folder), FlowSettings())
    resource = MIRRORED["supplier"]
    settings = ClientSettings(
        base_url=f"http://127.0.0.1:{port}", client_id="c", application_id="a", secret="s", page_size=10
    )
    manifests = []
    for run in ("1", "2"):
        step = Step("supplier_sync", run, "sync", None)
        async with Client(settings) as client:
            lists = source(client, resource)
            manifests.append(await sync(client, flow, resource, lists, RunOptions(), step))
    with engine.connect() as connection:
        rows = connection.execute(text("select count(*), sum(credit_limit), min(notes) from bms.supplier"))
        stored = [str(value) for value in rows.one()]
    engine.dispose()
    with SyncClient(Client(settings)) as blocking:
        names = await asyncio.to_thread(lambda: [each.name for each in blocking.list_suppliers()])
        one = await asyncio.to_thread(lambda: blocking.read_supplier(7).notes)
    os.environ["BMS_DATA_ROOT"] = f"file://{folder}"
    os.environ["AIRFLOW_CONN_BMS_DEFAULT"] = json.dumps({
        "conn_type": "bms", "host": settings.base_url, "login": "c", "password": "s",
        "extra": {"application_id": "a"},
    })
    listed, read = [
        await asyncio.to_thread(operator.execute, {})
        for operator in (
            suppliers.BmsListSuppliersOperator(task_id="all", output="xcom", fields=["id"]),
            suppliers.BmsReadSupplierOperator(task_id="one", id_supplier=7, path="supplier.json"),
        )
    ]
    creating = suppliers.BmsCreateSupplierOperator(task_id="new", body={"name": "New"}, retries=3)
    created = await asyncio.to_thread(creating.execute, {})
    failures = []
    with BmsHook().get_conn() as blocking:
        for call in (lambda: creating.execute({}), lambda: blocking.create_supplier({"name": "New"})):
            try:
                await asyncio.to_thread(call)
            except AirflowFailException:
                failures.append("for good")
    await runner.cleanup()
    return {
        "created": [created, len(CREATES), failures],
        "states": [each["state"] for each in manifests],
        "inserted": [each["inserted"] for each in manifests],
        "stored": stored,
        "names": len(names),
        "one": one,
        "tasks": sorted(runpy.run_path(os.environ["DAG_FILE"])["DAG"].task_dict),
        "title": FLOWS["supplier_sync"].title,
        "operators": [len(listed), read["operation"], read["rows"]],
    }


print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
"""


def test_the_worked_example_of_a_mirrored_resource_runs(
    project: Path, tmp_path: Path, warehouse_uri: str
) -> None:
    blocks = BLOCK.findall((project / "CONTRIBUTING.md").read_text())
    written = [line for *_, code in blocks for line in code.splitlines() if line.strip()]
    assert len({file for file, *_ in blocks}) <= 5
    assert len(written) <= 70
    without = shutil.ignore_patterns(
        "static", "templates"
    )  # compiled files are valid in the copy, too
    for folder in ("include", "plugins", "dags"):
        shutil.copytree(project / folder, tmp_path / folder, ignore=without)
    for file, side, line, code in blocks:
        path = tmp_path / file
        if side == "new file":
            (path / line).write_text(code)
            continue
        text = path.read_text() if path.exists() else ""
        if not side:
            path.write_text(text + code)
            continue
        assert text.count(f"{line}\n") == 1, f"{file}: {line}"
        around = (f"{code}{line}\n", f"{line}\n{code}")
        path.write_text(text.replace(f"{line}\n", around[side == "after"]))
    places = os.pathsep.join(str(tmp_path / folder) for folder in ("include", "plugins"))
    ran = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", RUN, warehouse_uri, str(tmp_path / "data")],
        env={
            **os.environ,
            "PYTHONPATH": places,
            "DAG_FILE": str(tmp_path / "dags/supplier_sync.py"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.splitlines()[-1] == (
        '{"created": [{"id": 26}, 3, ["for good", "for good"]], "states": ["complete", "complete"], "inserted": [25, 0], '
        '"stored": ["25", "327.5", "from the detail"], "names": 25, "one": "from the detail", '
        '"tasks": ["sync"], "title": "Suppliers", "operators": [25, "read_supplier", 1]}'
    )
