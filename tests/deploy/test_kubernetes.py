"""The values for Airflow's chart agree with the image, the settings and the setup."""

import re
from typing import Any

import pytest
import yaml

from tests.deploy.compose import PROJECT

pytestmark = pytest.mark.bookkeeping

FILE = PROJECT / "deploy/kubernetes/values.yaml"
VALUES: dict[str, Any] = yaml.safe_load(FILE.read_text())
COMPOSE = yaml.safe_load((PROJECT / "docker-compose.yaml").read_text())


def test_airflow_comes_from_the_image() -> None:
    (version,) = re.findall(
        r"^ARG AIRFLOW=(.+)$", (PROJECT / "Dockerfile").read_text(), re.MULTILINE
    )
    assert VALUES["airflowVersion"] == version
    image = COMPOSE["services"]["worker"]["image"]
    assert VALUES["images"]["airflow"]["tag"] == image.partition(":")[2]


def test_the_manifest_contains_no_secret() -> None:
    assert re.findall(r"(?i)password|://\w+:\w+@", FILE.read_text()) == []
    for each in VALUES["secret"]:
        assert each.keys() == {"envName", "secretName", "secretKey"}


def test_dags_are_in_airflows_folder_and_setup_makes_the_schemas_and_the_pool() -> None:
    text = (PROJECT / "Dockerfile").read_text()
    assert "AIRFLOW_HOME=/opt/airflow " in text
    assert "RUN bms dags --write /opt/airflow/dags/bms\n" in text
    given = {each["name"] for each in VALUES["env"]}
    assert not {name for name in given if name.endswith("_FOLDER")}
    assert VALUES["migrateDatabaseJob"]["args"][-1].split()[-1] in text


def test_files_and_logs_outlive_a_pod() -> None:
    given = {each["name"]: each["value"] for each in VALUES["env"]}
    assert given["BMS_DATA_ROOT"].startswith("s3://")
    assert VALUES["config"]["logging"]["remote_base_log_folder"].startswith("s3://")
