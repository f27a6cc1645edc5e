"""Checks of Airflow over its REST API."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from bms_flows.doctor import airflow

LOGIN = {"BMS_AIRFLOW_USER": "doctor", "BMS_AIRFLOW_PASSWORD": "secret"}
DOWN = {name: {"status": "unhealthy"} for name in airflow.COMPONENTS}


class Handler(BaseHTTPRequestHandler):
    """Answers as an API server whose database is down."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(DOWN | {"access_token": "token"}).encode())

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_without_its_database_no_other_component_of_airflow_counts_as_down() -> None:
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        api = airflow.Api(f"http://127.0.0.1:{server.server_port}", LOGIN)
        found = [each.detail for each in airflow.components(api)]
        server.shutdown()
    assert found == ["metadatabase: unhealthy."]
