"""The values for Airflow's chart agree with the image, the settings and the setup."""

import re
from typing import Any

import yaml

from tests.deploy.compose import PROJECT

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


def test_paths_exist_in_the_image_and_setup_creates_schemas_and_pool() -> None:
    text = (PROJECT / "Dockerfile").read_text()
    given = {each["name"]: each["value"] for each in VALUES["env"]}
    for name in ("AIRFLOW__CORE__DAGS_FOLDER", "AIRFLOW__CORE__PLUGINS_FOLDER"):
        assert f"{name}={given[name]}" in text
    assert VALUES["migrateDatabaseJob"]["args"][-1].split()[-1] in text


def test_files_and_logs_outlive_a_pod() -> None:
    given = {each["name"]: each["value"] for each in VALUES["env"]}
    assert given["BMS_DATA_ROOT"].startswith("s3://")
    assert VALUES["config"]["logging"]["remote_base_log_folder"].startswith("s3://")
