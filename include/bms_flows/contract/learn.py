"""One run of the probe: ask, keep with a date, say on record how it went."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from bms_flows.contract.asking import Asker
from bms_flows.contract.keep import keep
from bms_flows.contract.probe import Probe
from bms_flows.runtime import step_log
from bms_flows.runtime.context import FlowContext, recorded_step
from bms_flows.runtime.step_log import Step


async def learn(
    asker: Asker, flow: FlowContext, step: Step, *, entities: Sequence[int], today: date
) -> dict[str, Any]:
    """Probe the service and keep what it told; return the findings' names by what became of them.

    Raises `TokenRefused` and the client's other errors where not even a token could be had.
    """
    with recorded_step(flow, step, asker.counters) as run_id:
        async with asker:
            findings = await Probe(asker, entities, flow.settings, today).run()
        with flow.warehouse.begin() as connection:
            found = keep(connection, findings, step, run_id)
            details = {name: len(names) for name, names in found.items()}
            step_log.finish(
                connection, run_id, state="complete", service=asker.counters, details=details
            )
    return found | {"requests": asker.counters.requests}
