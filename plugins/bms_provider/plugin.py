"""Airflow plugin: the board and the downloads of task files.

The entry point ``airflow.plugins`` of the distribution names the plugin, so that the wheel and a
checkout load it once. Every Airflow process imports this module; the web apps are imported with the
first request only.
"""

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from bms_provider import addresses


async def board(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request to the board; in a base installation, with the extra that it needs."""
    from bms_flows import extra  # noqa: PLC0415 - see above

    app: Any
    try:
        extra.require()
    except extra.MissingExtra as error:
        from starlette.responses import PlainTextResponse  # noqa: PLC0415

        app = PlainTextResponse(f"{error}\n", status_code=503)
    else:
        from bms_provider.board.routes import app  # noqa: PLC0415

    await app(scope, receive, send)


async def task_files(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request for a file of a task."""
    from bms_provider.board.task_files import app  # noqa: PLC0415 - see above

    await app(scope, receive, send)


class BmsPlugin(AirflowPlugin):
    """Adds the board to Airflow's navigation."""

    name = "bms"
    fastapi_apps = [  # noqa: RUF012 - Airflow's interface
        {"app": board, "url_prefix": addresses.BOARD, "name": "BMS board"},
        {"app": task_files, "url_prefix": addresses.TASK_FILES, "name": "BMS task files"},
    ]
    external_views = [  # noqa: RUF012
        {
            "name": "BMS board",
            "href": "bms/",  # relative to Airflow's address, which may have a path
            "destination": "nav",
            "url_route": "bms",
            "nav_top_level": True,
            "icon": "bms/static/icon-light.svg",
            "icon_dark_mode": "bms/static/icon-dark.svg",
        }
    ]
