"""A task's workbench: clients of its own, the rules of its inbox, and how the service answered it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from bms.counters import Counters
from bms_flows.onboarding.context import OnboardingContext
from bms_flows.onboarding.planning.rules import Rules, read
from bms_flows.onboarding.reading.sheet import UNDECLARED
from bms_flows.onboarding.resources.remotes import REMOTES
from bms_flows.onboarding.settings import OnboardingSettings
from bms_flows.runtime import step_log
from bms_flows.runtime.context import recorded_step
from bms_provider import flow_context
from bms_provider.hooks.bms import BmsHook
from bms_provider.tasks import inbox

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bms_flows.runtime.context import FlowContext

T = TypeVar("T")


def rules(name: str) -> Rules:
    """Return the rules that a drop is held to; what its inbox is declared to write is one of them."""
    own, declared = read(REMOTES[name].resource), inbox.declared(name)
    if declared == UNDECLARED:
        return own
    return replace(own, version=f"{own.version}-{declared.date_order}-{declared.decimal_mark}")


def step(
    flow: FlowContext, name: str, called: str, work: Callable[[OnboardingContext], Awaitable[T]]
) -> T:
    """Do `work`, and put on record how the service answered it."""
    counters = Counters()
    with recorded_step(flow, flow_context.step(called), counters) as step_run_id:
        done = run(flow, name, counters, work)
        with flow.warehouse.begin() as connection:
            step_log.finish(connection, step_run_id, state="complete", service=counters)
    return done


def run(
    flow: FlowContext,
    name: str,
    counters: Counters,
    work: Callable[[OnboardingContext], Awaitable[T]],
) -> T:
    """Do `work` with clients of its own, in the one event loop of this task.

    Raises `ServiceMismatch` where the warehouse is filled from another service.
    """
    hook, settings = BmsHook(), OnboardingSettings.from_environment()
    flow_context.require_service(flow, hook.settings)
    reader, writer = hook.client(counters), hook.client(counters, attempts=1)

    async def on_a_bench() -> T:
        remote = REMOTES[name]
        async with reader, writer:
            onboarding = OnboardingContext(
                flow.warehouse,
                remote(reader, writer, settings),
                rules(name),
                settings,
                hook.entities,
            )
            return await work(onboarding)

    try:
        return asyncio.run(on_a_bench())
    finally:
        flow_context.emit(counters, f"create_{name}")
