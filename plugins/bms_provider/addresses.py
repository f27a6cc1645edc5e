"""Addresses of the provider's pages below Airflow's own address."""

from urllib.parse import quote

from airflow.sdk import conf

BOARD = "/bms"
"""Where Airflow mounts the board."""

TASK_FILES = "/bms-files"
"""Where Airflow mounts the downloads of files that operators wrote."""


def airflow() -> str:
    """Return Airflow's address without a slash at its end; empty makes links relative to the host."""
    return str(conf.get("api", "base_url", fallback="")).rstrip("/")


def flow(dag_id: str) -> str:
    """Return the board's page of one of the project's DAGs."""
    return f"{BOARD}/flows/{_part(dag_id)}"


def board_run(dag_id: str, run_id: str) -> str:
    """Return the board's page of a run of one of the project's DAGs."""
    return f"{flow(dag_id)}/runs/{_part(run_id)}"


def task_file(dag_id: str, path: str) -> str:
    """Return the download of a file below ``operators/<dag_id>/``."""
    return f"{TASK_FILES}/{_part(dag_id)}/{quote(path)}"


def _part(text: str) -> str:
    return quote(text, safe="")
