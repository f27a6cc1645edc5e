"""Airflow pool that limits the requests in flight over all workers.

A task takes one slot for each request that it may have in flight. This module imports nothing: the
local stack and the deployment setup read it without Airflow.
"""

NAME = "bms_service"

SLOTS = 32
"""Size of a new pool: our assumption, since the API specifies no limit. Change it on Airflow's Pools page."""

DESCRIPTION = "Maximum number of requests in flight, over all workers"

COMMAND = f'airflow pools set {NAME} {SLOTS} "{DESCRIPTION}"'
"""Command that creates the pool. Airflow never starts tasks of a missing pool and reports no error."""

TASK_SLOTS = 8
"""Default of `BMS_TASK_SLOTS`: slots of a task, its maximum number of requests in flight."""
