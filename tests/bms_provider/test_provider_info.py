"""Metadata that Airflow's provider discovery reads."""

import importlib
import importlib.metadata
import json
import os
import pkgutil
from pathlib import Path
from typing import Any

import airflow
import jsonschema
import pytest
from airflow.sdk import BaseHook, BaseOperator, BaseOperatorLink
from airflow.triggers.base import BaseTrigger

import bms_provider
from bms_provider.provider_info import CONNECTION_FIELDS, get_provider_info
from tests.support.interpreter import last_line


def test_the_package_name_is_the_name_of_the_distribution() -> None:
    """Airflow loads no provider if it differs."""
    [entry] = [
        entry
        for entry in importlib.metadata.entry_points(group="apache_airflow_provider")
        if entry.value.startswith("bms_provider.")
    ]
    assert entry.dist is not None
    assert entry.load()() == get_provider_info()
    assert get_provider_info()["package-name"] == entry.dist.metadata["Name"]


def test_the_module_imports_nothing() -> None:
    """Airflow loads no provider if its import fails."""
    code = (
        "import sys; before = set(sys.modules); import bms_provider.provider_info;"
        "print(sorted(set(sys.modules) - before))"
    )
    assert last_line(code) == "['bms_provider', 'bms_provider.provider_info']"


@pytest.fixture(scope="module")
def discovered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Airflow discovers of the provider: its form, links, asset URIs, plugin and example DAGs."""
    code = (
        "import json, sys\n"
        "from airflow.api_fastapi.core_api.services.ui.connections import HookMetaService\n"
        "[ours] = [m for m in HookMetaService.hook_meta_data() if m.connection_type == 'bms']\n"
        "hook_imported = 'bms_provider.hooks.bms' in sys.modules\n"
        "from airflow.providers_manager import ProvidersManager\n"
        "manager = ProvidersManager()\n"
        "manager.initialize_providers_asset_uri_resources()\n"
        "links = [each for each in manager.extra_links_class_names if each.startswith('bms')]\n"
        "from airflow.dag_processing.bundles.manager import DagBundlesManager\n"
        "bundles = {each.name: str(each.path) for each in DagBundlesManager().get_all_dag_bundles()}\n"
        "from airflow.plugins_manager import _get_plugins\n"
        "plugins = [each.name for each in _get_plugins()[0]]\n"
        "print(json.dumps({'bundles': bundles, 'plugins': plugins, 'form': ours.model_dump(mode='json'), 'hook_imported': hook_imported,\n"
        "    'version': manager.providers['bms-airflow'].version,\n"
        "    'links': links, 'registered': 'x-bms' in manager.asset_uri_handlers}))\n"
    )
    home = str(tmp_path_factory.mktemp("airflow"))
    environment = {**os.environ, "AIRFLOW_HOME": home, "AIRFLOW__CORE__LOAD_EXAMPLES": "True"}
    found: dict[str, Any] = json.loads(last_line(code, environment=environment))
    return found


def test_airflow_builds_the_form_without_importing_the_hook(discovered: dict[str, Any]) -> None:
    assert not discovered["hook_imported"]
    form = discovered["form"]
    assert form["hook_class_name"] == "bms_provider.hooks.bms.BmsHook"
    assert list(form["extra_fields"]) == list(CONNECTION_FIELDS)
    assert form["standard_fields"]["url_schema"]["hidden"] is True
    assert form["standard_fields"]["host"]["title"] == "Base URL"
    assert "400" in form["standard_fields"]["port"]["placeholder"]


def test_airflow_masks_secret_extras_by_their_names() -> None:
    """The form's password format does not hide the value of an extra."""
    from airflow.sdk._shared.secrets_masker import should_hide_value_for_key

    secrets = {
        name
        for name, field in CONNECTION_FIELDS.items()
        if field["schema"].get("format") == "password"  # type: ignore[attr-defined]  # plain data
    }
    masked = {name for name in CONNECTION_FIELDS if should_hide_value_for_key(name)}
    assert secrets == {"token_bearer_secret"}
    assert masked == {
        *secrets,
        "proxies",
    }  # by Airflow's own list, since proxies may have a password


def test_the_metadata_fit_airflow_s_schema() -> None:
    schema = json.loads((Path(airflow.__file__).parent / "provider_info.schema.json").read_text())
    jsonschema.validate(get_provider_info(), schema)


def classes(base: type) -> set[str]:
    """Return the modules of the provider that define a public subclass of a base class."""
    modules = [
        importlib.import_module(each.name)
        for folder in ("hooks", "operators", "operators.flows", "triggers")
        for each in pkgutil.iter_modules(
            [f"{next(iter(bms_provider.__path__))}/{folder.replace('.', '/')}"],
            f"bms_provider.{folder}.",
        )
    ]
    return {
        f"{module.__name__}.{name}"
        for module in modules
        for name, found in vars(module).items()
        if isinstance(found, type)
        and issubclass(found, base)
        and found.__module__ == module.__name__
    }


@pytest.mark.parametrize(
    ("key", "base"), [("hooks", BaseHook), ("operators", BaseOperator), ("triggers", BaseTrigger)]
)
def test_every_module_with_a_public_class_is_listed(key: str, base: type) -> None:
    found = {name.rpartition(".")[0] for name in classes(base)}
    found -= {f"bms_provider.operators.{name}" for name in ("base", "creation", "flows.base")}
    info: dict[str, Any] = get_provider_info()
    listed = [module for each in info[key] for module in each["python-modules"]]
    assert sorted(listed) == sorted(found)
    names = {each["integration-name"] for each in info["integrations"]}
    assert {each["integration-name"] for each in info[key]} == names


def test_every_link_is_listed() -> None:
    assert set(get_provider_info()["extra-links"]) == classes(BaseOperatorLink)  # type: ignore[call-overload]  # plain data


def test_airflow_discovers_links_asset_uris_and_the_plugin(discovered: dict[str, Any]) -> None:
    assert discovered["links"] == get_provider_info()["extra-links"]
    assert discovered["registered"]
    assert discovered["plugins"].count("bms") == 1


def test_airflow_finds_the_example_dags_of_the_distribution(discovered: dict[str, Any]) -> None:
    """With `[core] load_examples`, as a bundle named after the distribution."""
    path = Path(discovered["bundles"]["bms-airflow-example-dags"])
    assert path.samefile(Path(bms_provider.__file__).parent / "example_dags")


def test_airflow_and_the_package_show_the_version_of_the_distribution(
    discovered: dict[str, Any],
) -> None:
    version = importlib.metadata.version("bms-airflow")
    assert discovered["version"] == bms_provider.__version__ == version
    assert not hasattr(bms_provider, "version")
