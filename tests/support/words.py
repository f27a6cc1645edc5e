"""Words of the documentation, by page."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]
GENERATED = re.compile(r"<!-- ([\w ]+) -->\n(.*?)<!-- /\1 -->", re.DOTALL)


def words(text: str) -> int:
    """Return the number of words: what is between blanks and has a letter or a digit."""
    return sum(1 for each in text.split() if re.search(r"\w", each))


def counts(page: Path) -> tuple[int, int]:
    """Return the words of a page that were written by hand, and those that were generated or measured."""
    text = page.read_text()
    generated = sum(words(found[2]) for found in GENERATED.finditer(text))
    return (
        (0, words(text)) if page.parent.name == "results" else (words(text) - generated, generated)
    )


def pages() -> list[Path]:
    """Return the pages of the documentation, and those of results."""
    patterns = ("*.md", "docs/**/*.md", "*/results/*.md")
    return sorted(page for pattern in patterns for page in PROJECT.glob(pattern))


if __name__ == "__main__":
    for each in pages():
        print("{:6}{:7}".format(*counts(each)), each.relative_to(PROJECT))  # noqa: T201 - a command
