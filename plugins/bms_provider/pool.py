"""The pool that bounds requests in flight over all workers: its name, its size, how it is made.

A task takes as many slots as it may have requests in flight. This module imports nothing: the local
stack and the setup of a deployment read it without Airflow.
"""

NAME = "bms_service"

SLOTS = 32
"""Of a new pool. How many the service bears is not shown by the interface: our assumption; a person
changes it on Airflow's Pools page."""

DESCRIPTION = "Requests to the service in flight at most, over all workers"

COMMAND = f'airflow pools set {NAME} {SLOTS} "{DESCRIPTION}"'
"""Makes the pool. Tasks of a missing one stay scheduled for ever, without a word."""

TASK_SLOTS = 8
"""Slots of a task, unless `BMS_TASK_SLOTS` says otherwise: its requests in flight at most."""
