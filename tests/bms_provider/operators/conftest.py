"""An event loop of its own for each operator."""

import asyncio

import pytest


@pytest.fixture(autouse=True)
def no_event_loop() -> None:
    """Let Airflow make the operator's event loop, which it then closes.

    Where none was ever set, asyncio makes one that Airflow leaves open: a later test fails with a warning about it.
    """
    asyncio.set_event_loop(None)
