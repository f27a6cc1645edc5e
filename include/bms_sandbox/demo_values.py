"""Values of the demo data, and the random generator of a row."""

import tomllib
from pathlib import Path
from random import Random

_VALUES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
FIRST_NAMES, LAST_NAMES, STREETS, FIRMS, SUBJECTS, JOBS, SKILLS = (
    tuple(map(str, _VALUES[name]))
    for name in ("first_names", "last_names", "streets", "firms", "subjects", "jobs", "skills")
)
TOWNS = tuple((str(postal_code), str(name)) for postal_code, name in _VALUES["towns"])
DEPARTMENTS = tuple((str(code), str(name)) for code, name in _VALUES["departments"])


def seeded(seed: int, *what: int) -> Random:
    """Return the random generator of one row."""
    number = seed
    for part in what:
        number = number * 1_000_003 + part + 1
    return Random(number)  # noqa: S311 -> made-up rows, not secrets
