import importlib.metadata
import json
import subprocess
import sys

from bms_provider.provider_info import CONNECTION_FIELDS, get_provider_info


def test_the_package_name_is_the_distribution_s_own() -> None:
    """Another name keeps every provider of Airflow from loading."""
    [entry] = [
        entry
        for entry in importlib.metadata.entry_points(group="apache_airflow_provider")
        if entry.value.startswith("bms_provider.")
    ]
    assert entry.dist is not None
    assert entry.load()() == get_provider_info()
    assert get_provider_info()["package-name"] == entry.dist.metadata["Name"]


def test_importing_it_imports_nothing() -> None:
    """An exception there would keep every provider of Airflow from loading."""
    code = (
        "import sys; before = set(sys.modules); import bms_provider.provider_info;"
        "print(sorted(set(sys.modules) - before))"
    )
    found = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "['bms_provider', 'bms_provider.provider_info']"


def test_airflow_builds_the_form_without_importing_the_hook() -> None:
    code = (
        "import json, sys\n"
        "from airflow.api_fastapi.core_api.services.ui.connections import HookMetaService\n"
        "[ours] = [m for m in HookMetaService.hook_meta_data() if m.connection_type == 'bms']\n"
        "assert 'bms_provider.hooks.bms' not in sys.modules\n"
        "print(ours.model_dump_json())\n"
    )
    found = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    form = json.loads(found.stdout.splitlines()[-1])
    assert form["hook_class_name"] == "bms_provider.hooks.bms.BmsHook"
    assert list(form["extra_fields"]) == list(CONNECTION_FIELDS)
    assert form["standard_fields"]["url_schema"]["hidden"] is True
    assert form["standard_fields"]["host"]["title"] == "Base URL"
    assert "400" in form["standard_fields"]["port"]["placeholder"]


def test_a_secret_among_the_extras_is_named_so_that_airflow_masks_it() -> None:
    """Airflow masks an extra by its name; the form's password format alone doesn't hide it."""
    from airflow.sdk._shared.secrets_masker import should_hide_value_for_key

    secrets = {
        name
        for name, field in CONNECTION_FIELDS.items()
        if field["schema"].get("format") == "password"  # type: ignore[attr-defined]  # plain data
    }
    masked = {name for name in CONNECTION_FIELDS if should_hide_value_for_key(name)}
    assert secrets == {"token_bearer_secret"}
    assert masked == {*secrets, "proxies"}  # Airflow's own list has them: they may hold a password
