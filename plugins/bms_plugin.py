"""The board's entry in Airflow's navigation.

Every process of Airflow loads this file, once for each task: the web code behind it is imported at
the first request alone.
"""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin


async def board(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request below `/bms`."""
    from bms_provider.board.app import app  # noqa: PLC0415 - see above

    await app(scope, receive, send)


class BmsPlugin(AirflowPlugin):
    """Adds the pages below `/bms`, and "BMS board" to the navigation."""

    name = "bms"
    fastapi_apps = [{"app": board, "url_prefix": "/bms", "name": "BMS board"}]  # noqa: RUF012 - Airflow's form
    external_views = [  # noqa: RUF012
        {
            "name": "BMS board",
            "href": "bms/",  # relative to Airflow's own address, whatever path that has
            "destination": "nav",
            "url_route": "bms",
            "nav_top_level": True,
            "icon": "bms/static/icon-light.svg",
            "icon_dark_mode": "bms/static/icon-dark.svg",
        }
    ]
