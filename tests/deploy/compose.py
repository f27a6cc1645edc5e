"""docker-compose.yaml as Compose reads it: its variables filled in from an environment file."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).parents[2]
PRODUCTION = ("docker-compose.yaml", "docker-compose.production.yaml")
VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?::([?-])([^}]*))?\})")


class Unset(LookupError):
    """A required variable is missing; the text comes from the Compose file."""


def draw_secrets(folder: Path) -> str:
    """Run scripts/secrets in a folder as if it were a checkout; return the text of its .env."""
    script = folder / "scripts/secrets"
    script.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(PROJECT / "scripts/secrets", script)
    subprocess.run([script], check=True, capture_output=True)  # noqa: S603 - our own script
    return (folder / ".env").read_text()


def variables(text: str) -> dict[str, str]:
    """Return what an environment file sets, by name."""
    return dict(line.split("=", 1) for line in text.splitlines())


class Replacement(list[Any]):
    """A list with the tag `!override` or `!reset`, which replaces the list of the file before."""


class Loader(yaml.SafeLoader):
    """Reads Compose files with their tags."""


for _tag in ("!override", "!reset"):
    Loader.add_constructor(
        _tag,
        lambda loader, node: Replacement(loader.construct_sequence(node)),
    )


def content(*names: str) -> dict[str, Any]:
    """Return Compose files as one: mappings are merged, lists added unless a tag replaces them."""
    merged: Any = {}
    for name in names or ("docker-compose.yaml",):
        merged = _merged(merged, yaml.load((PROJECT / name).read_text(), Loader))  # noqa: S506 - a safe loader
    found: dict[str, Any] = merged
    return found


def _merged(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return {**first, **{name: _merged(first.get(name), second[name]) for name in second}}
    if isinstance(first, list) and isinstance(second, list):
        return [*second] if isinstance(second, Replacement) else [*first, *second]
    return second


def compose(given: Mapping[str, str], *names: str) -> dict[str, Any]:
    """Return Compose files as one with their variables filled in from `given`; raise `Unset`."""
    filled_in: dict[str, Any] = filled(content(*names), given)
    return filled_in


def filled(value: Any, given: Mapping[str, str]) -> Any:
    """Return a part of a Compose file with the variables in its texts filled in."""
    if isinstance(value, dict):
        return {name: filled(each, given) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each, given) for each in value]
    if not isinstance(value, str):
        return value

    def fill(match: re.Match[str]) -> str:
        dollar, name, kind, rest = match.groups()
        if dollar:
            return "$"
        if given.get(name):
            return given[name]
        if kind == "?":
            raise Unset(f"{name}: {rest}")
        return rest or ""

    return VARIABLE.sub(fill, value)


def environment_of(service: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """Return what a container finds in its environment; `given`, the .env, has the variables without a value."""
    listed = {
        name: given.get(name) if value is None else str(value)
        for name, value in service.get("environment", {}).items()
    }
    return {name: value for name, value in listed.items() if value is not None}
