"""Benchmark of creating a drop's rows, compared with as many bare POSTs; prints the page bench/results/creation.md.

    python -m bench.creation_speed [--rows 1000] [--latency-ms 20] [--concurrency 8] [--chunk-rows 500]
        [--repeat 5]

A round: the bare POSTs (aiohttp, a token, prepared bodies, nothing stored), then the rows of a drop
through the engine, chunk after chunk: leases, intents committed before and outcomes after each POST.
Both end when the service has answered and, for the engine, when the last commit is done. The
engine also requests a token. Planning and verification are timed separately and belong to neither.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from statistics import median
from typing import Any

import aiohttp

from bms.settings import ClientSettings
from bms_flows.onboarding.creation import Entered
from bms_flows.onboarding.inbox import claim
from bms_flows.onboarding.inbox.discovery import FoundFile
from bms_flows.onboarding.reading.reader import read
from bms_flows.onboarding.resources.employee import EMPLOYEE
from bms_flows.onboarding.sending.verify import verify
from bms_flows.onboarding.settings import OnboardingSettings
from bms_sandbox.serve import Sandbox, running
from bms_warehouse import database
from proofs.page import command, heading, show
from tests.bms_flows.onboarding.crm import people
from tests.bms_flows.onboarding.onboarding import TODAY, Run, creation_of
from tests.support.french_excel import in_letters
from tests.support.measurement import load_average
from tests.support.warehouse_server import WarehouseServer, warehouse_server

START = TODAY + timedelta(days=30)


def employees(count: int) -> bytes:
    """Return a file of employees, of whom none has a name like another's: such rows go to review."""
    numbers = range(100_000, 100_000 + count)
    rows = (f"1;{n:06d};{in_letters(f'{n * 7_919}')};Zoé;{START}" for n in numbers)
    return people("employee", *rows)


async def bare(sandbox: Sandbox, bodies: Sequence[dict[str, Any]], concurrency: int) -> float:
    """Return the seconds that the POSTs take with nothing around them."""
    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(sandbox.url, connector=connector) as session:
        async with session.post("/v1/token", json=asdict(sandbox.credentials)) as answer:
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
    here: WarehouseServer, sandbox: Sandbox, content: bytes, settings: OnboardingSettings
) -> dict[str, float]:
    """Return the seconds of planning, applying and reading back a drop in a new warehouse."""
    uri = here.warehouse()
    warehouse = database.connect(uri)
    service = ClientSettings(
        base_url=sandbox.url,
        concurrency=settings.create_concurrency,
        **asdict(sandbox.credentials),
    )
    drop = claim.claim_file(warehouse, EMPLOYEE.name, FoundFile("a.csv", 1, "1")).id
    run = Run(uri, service, drop, content, settings)
    took: dict[str, float] = {}

    @contextmanager
    def timed(what: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        took[what] = time.perf_counter() - started

    async with creation_of(run, warehouse) as (creation, sheet):
        with timed("plan"):
            planned = await creation.plan(sheet)
            begun = await creation.enter(planned.plan.id, sheet)
            assert isinstance(begun, Entered)
            chunks = await creation.chunks(begun.plan_id)
        with timed("apply"):
            for number in range(begun.chunks):
                ended = await creation.apply(begun.plan_id, number)
                assert set(ended) == {"created"}, ended
        with timed("verify"):
            rows = [row for chunk in chunks for row in chunk]
            await verify(creation.ledger, creation.remote, settings.settle_s, rows)
    warehouse.dispose()
    here.drop(uri)
    return took


def rounds_of(
    rows: int, latency_ms: float, repeat: int, settings: OnboardingSettings
) -> Iterator[dict[str, float]]:
    """Measure in turns; yield each round but the first, which warms up."""
    content = employees(rows)
    sheet = read(content, "a.csv", EMPLOYEE)
    bodies = [{**row.values, "start_date": START.isoformat()} for row in sheet.rows]
    options = ("--latency", str(latency_ms / 1000), "--today", TODAY.isoformat(), "--frozen")
    with warehouse_server() as here, running(options=(*options, "--entities", "1")) as sandbox:
        for number in range(repeat + 1):
            load = load_average()
            sandbox.reset()
            alone = asyncio.run(bare(sandbox, bodies, settings.create_concurrency))
            sandbox.reset()
            took = asyncio.run(engine(here, sandbox, content, settings))
            made = sandbox.truth()["created"]["employees"]
            assert len(made) == len({each["payroll_number"] for each in made}) == rows
            if number:
                yield {"bare": alone, **took, "load": load}


def main(
    *,
    rows: int = 1000,
    latency_ms: float = 20.0,
    concurrency: int = OnboardingSettings().create_concurrency,
    chunk_rows: int = OnboardingSettings().chunk_rows,
    repeat: int = 5,
) -> None:
    """Measure, and print the page: medians, and the range of the share of the bare throughput."""
    settings = OnboardingSettings(
        approval="never", create_concurrency=concurrency, chunk_rows=chunk_rows
    )
    heading(
        f"Creation: {rows} rows at {latency_ms:.0f} ms, {concurrency} in flight, chunks of {chunk_rows}",
        f"Medians of {repeat} rounds. ",
    )
    rounds = [*rounds_of(rows, latency_ms, repeat, settings)]
    names = ("bare", "apply", "plan", "verify")
    took = {name: median(each[name] for each in rounds) for name in names}
    show(("what", "s", "rows/s"), ((n, f"{s:.2f}", f"{rows / s:,.0f}") for n, s in took.items()))
    shares = [each["bare"] / each["apply"] for each in rounds]
    loads = [each["load"] for each in rounds]
    print(
        f"Applied at {median(shares):.0%} of the bare throughput ({min(shares):.0%} to"
        f" {max(shares):.0%}); load average {min(loads):.1f} to {max(loads):.1f}."
    )


if __name__ == "__main__":
    command(main)
