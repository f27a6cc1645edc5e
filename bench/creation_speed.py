"""Benchmark of creating a drop's rows, compared with the same number of bare POSTs.

    python -m bench.creation_speed [--rows 1000] [--latency-ms 20] [--concurrency 8] [--repeat 5]

A round: the bare POSTs (aiohttp, a token, prepared bodies, nothing stored), then the rows of a drop
through the engine, chunk after chunk: leases, intents committed before and outcomes after each POST.
Both end when the service has answered and, for the engine, when the last commit is done. Planning
and verification are timed separately and belong to neither.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp

from bms.client import Client
from bms.settings import ClientSettings
from bms_flows.onboarding.creation import Creation, Entered
from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.planning import rules
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.reading.sheet import Sheet
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.resources.remotes import Employees
from bms_flows.onboarding.sending.verify import verify
from bms_flows.onboarding.settings import OnboardingSettings
from bms_sandbox.serve import Sandbox, running
from bms_warehouse import database
from tests.support.french_excel import in_letters
from tests.support.measurement import load_average
from tests.support.published import stamp
from tests.support.warehouse_server import WarehouseServer, warehouse_server

TODAY = date(2026, 3, 31)
START = TODAY + timedelta(days=30)
RESULTS = Path(__file__).parent / "results"


def employees(count: int) -> bytes:
    """Return a file of `rows` employees."""
    rows = (f"1;{n:06d};{in_letters(n)};Zoé;{START}" for n in range(100_000, 100_000 + count))
    header = "id_entity;payroll_number;last_name;first_name;start_date"
    return "\n".join([header, *rows, ""]).encode()


async def bare(sandbox: Sandbox, bodies: Sequence[dict[str, Any]], concurrency: int) -> float:
    """Return the seconds that the POSTs take with nothing around them."""
    given = sandbox.credentials
    token = {
        "client_id": given.client_id,
        "application_id": given.application_id,
        "secret": given.secret,
    }
    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(sandbox.url, connector=connector) as session:
        async with session.post("/v1/token", json=token) as answer:
            bearer = (await answer.json())["access_token"]
        headers = {"Authorization": f"Bearer {bearer}"}
        todo = iter(bodies)

        async def work() -> None:
            for body in todo:
                async with session.post("/v1/HR/employees", json=body, headers=headers) as answer:
                    answer.raise_for_status()
                    await answer.json()

        started = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(concurrency)))
        return time.perf_counter() - started


async def engine(
    here: WarehouseServer, sandbox: Sandbox, sheet: Sheet, settings: OnboardingSettings
) -> dict[str, float]:
    """Return the seconds of planning, applying and reading back a drop in a new warehouse."""
    uri = here.warehouse()
    warehouse = database.connect(uri)
    given = sandbox.credentials
    service = ClientSettings(
        base_url=sandbox.url,
        client_id=given.client_id,
        application_id=given.application_id,
        secret=given.secret,
        concurrency=settings.create_concurrency,
    )
    drop = claim.claim_file(warehouse, EMPLOYEE.name, FoundFile("a.csv", 1, "1")).id
    took: dict[str, float] = {}
    async with Client(service) as reader, Client(replace(service, attempts=1)) as writer:
        remote, read_rules = Employees(reader, writer), rules.read(EMPLOYEE)
        bench = Creation(warehouse, remote, read_rules, settings, drop, TODAY)
        started = time.perf_counter()
        planned = await bench.plan(sheet)
        begun = await bench.enter(planned.plan.id, sheet)
        assert isinstance(begun, Entered)
        chunks = await bench.chunks(begun.plan_id)
        took["plan"] = time.perf_counter() - started
        await writer.access()  # as the bare POSTs, with a token in hand
        started = time.perf_counter()
        for number in range(begun.chunks):
            ended = await bench.apply(begun.plan_id, number)
            assert set(ended) == {"created"}, ended
        took["apply"] = time.perf_counter() - started
        started = time.perf_counter()
        await verify(
            bench.ledger,
            bench.remote,
            bench.settings.settle_s,
            [row for chunk in chunks for row in chunk],
        )
        took["verify"] = time.perf_counter() - started
    warehouse.dispose()
    here.drop(uri)
    return took


def rounds_of(given: argparse.Namespace, settings: OnboardingSettings) -> list[dict[str, float]]:
    """Measure in turns."""
    sheet = read(employees(given.rows), "a.csv", EMPLOYEE)
    bodies = [{**row.values, "start_date": START.isoformat()} for row in sheet.rows]
    options = ("--latency", str(given.latency_ms / 1000), "--today", TODAY.isoformat(), "--frozen")
    found = []
    with warehouse_server() as here, running(options=(*options, "--entities", "1")) as sandbox:
        for number in range(given.repeat + 1):
            load = load_average()
            sandbox.reset()
            alone = asyncio.run(bare(sandbox, bodies, given.concurrency))
            sandbox.reset()
            took = asyncio.run(engine(here, sandbox, sheet, settings))
            made = sandbox.truth()["created"]["employees"]
            assert len(made) == len({each["payroll_number"] for each in made}) == given.rows
            if number:  # the first round warms up
                found.append({"bare": alone, **took, "load": load})
    return found


def report(rounds: list[dict[str, float]], rows: int) -> str:
    """Return the rounds as Markdown: medians, and the range of the share of the bare throughput."""
    shares = [each["bare"] / each["apply"] for each in rounds]
    lines = ["| what | s | rows/s |", "| --- | ---: | ---: |"]
    for name in ("bare", "apply", "plan", "verify"):
        seconds = median(each[name] for each in rounds)
        lines.append(f"| {name} | {seconds:.2f} | {rows / seconds:,.0f} |")
    loads = [each["load"] for each in rounds]
    return "\n".join(
        [
            *lines,
            "",
            (
                f"Applied at {median(shares):.0%} of the bare throughput ({min(shares):.0%} to"
                f" {max(shares):.0%}); load average {min(loads):.1f} to {max(loads):.1f}."
            ),
        ]
    )


def main() -> None:
    """Measure, print and keep the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1000)
    options.add_argument("--latency-ms", type=float, default=20)
    options.add_argument("--concurrency", type=int, default=OnboardingSettings().create_concurrency)
    options.add_argument("--chunk-rows", type=int, default=OnboardingSettings().chunk_rows)
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--keep", action="store_true", help="write bench/results/creation.md")
    given = options.parse_args()
    settings = OnboardingSettings(
        approval="never", create_concurrency=given.concurrency, chunk_rows=given.chunk_rows
    )
    rounds = rounds_of(given, settings)
    text = "\n\n".join(
        [
            (
                f"# Creation: {given.rows} rows at {given.latency_ms:.0f} ms, {given.concurrency} in flight,"
                f" chunks of {given.chunk_rows}"
            ),
            f"{stamp()} {given.repeat} rounds.",
            report(rounds, given.rows),
            "",
        ]
    )
    print(text)
    if given.keep:
        (RESULTS / "creation.md").write_text(text)


if __name__ == "__main__":
    main()
