"""The table of the specification's words: each has a file and a test."""

import re
from pathlib import Path

import pytest

WORDS = {
    *("custom hook", "manages the token", "and scopes", "operators wrap each endpoint"),
    *("daily invoice extraction", "employee onboarding", "from a CSV drop", "contact sync"),
    *("apache-airflow", "apache-airflow-providers-http", "pandas", "pytest"),
    *("dags", "plugins", "include", "tests"),
    *("requirements.txt", "README.md", "docker-compose.yaml"),
}


@pytest.mark.bookkeeping
def test_each_word_has_a_file_and_a_test(project: Path) -> None:
    text = (project / "docs/proof.md").read_text()
    table = text.partition("<!-- specification -->")[2].partition("<!-- /specification -->")[0]
    rows = re.findall(r"^\| (.+?) \| `(.+?)` \| `(.+?)::(.+?)` \|$", table, re.MULTILINE)
    assert {word for word, _, _, _ in rows} == WORDS
    for _, where, file, name in rows:
        assert (project / where).exists()
        assert re.search(rf"^(async )?def {name}\(", (project / file).read_text(), re.MULTILINE)
