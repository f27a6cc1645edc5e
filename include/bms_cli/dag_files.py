"""DAG files for a DAG bundle: each imports one DAG of the installed package."""

from pathlib import Path

from bms_flows.catalog import FLOWS

# Airflow reads only files that contain the words `airflow` and `dag`.
_CONTENT = '''"""Airflow DAG {dag_id}; the installed package bms-airflow defines its steps."""

from bms_provider.dags.{dag_id} import DAG

__all__ = ["DAG"]
'''


class ForeignFile(Exception):
    """A file has the name of a DAG file but other content."""


def write(folder: Path) -> list[Path]:
    """Write a file for every DAG to a folder, and return their paths.

    Creates the folder. Replaces no file with other content: raises `ForeignFile` before it writes any.
    """
    contents = {folder / f"{dag_id}.py": _CONTENT.format(dag_id=dag_id) for dag_id in FLOWS}
    foreign = [
        path.name
        for path, content in contents.items()
        if path.exists() and path.read_text() != content
    ]
    if foreign:
        raise ForeignFile(
            f"{folder} has files of these names with other content: {', '.join(foreign)}. Nothing was written."
            " Choose an empty folder, or move these files away."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        path.write_text(content)
    return list(contents)
