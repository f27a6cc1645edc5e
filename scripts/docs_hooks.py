"""MkDocs hooks: pages outside docs/, licences, links into the repository, pictures per theme, ranks of the search."""

import os
import re
import runpy
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PROJECT = Path(__file__).parent.parent
HOME = "index.md"
ROOT_PAGES = {
    "README.md": HOME,
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages of the site by their path in the repository, outside docs/."""
LICENCES = "licences.md"
"""Page that only the site has: the licences of all packages of a production installation."""
BOOSTS = {"runbook.md": 4, "changelog.md": 0.2, "contributing.md": 0.5}
"""Factors of the search, by page: a user who searches for a symptom needs the runbook."""
SOURCES = "repository"
"""Folder of the site with copies of the repository's files that pages link to."""
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
PICTURE = re.compile(
    r'<picture>\s*<source[^>]*srcset="([^"]+)">\s*<img alt="([^"]*)" src="([^"]+)"([^>]*)>\s*</picture>'
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each folder of the navigation by its pages, the index first."""
    config.nav = [_listed(item) for item in config.nav or []]
    return config


def _listed(item: Any) -> Any:
    if isinstance(item, dict):
        return {title: _listed(value) for title, value in item.items()}
    if isinstance(item, list):
        return [_listed(each) for each in item]
    if not item.endswith("/"):
        return item
    pages = (PROJECT / "docs" / item).glob("*.md")
    return [
        f"{item}{page.name}"
        for page in sorted(pages, key=lambda page: (page.stem != "README", page.stem))
    ]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's root, and a copy of each file that a page links to."""
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(PROJECT / name).read_text()))
    licences = runpy.run_path(str(PROJECT / "scripts/licences"))["page"]()
    files.append(File.generated(config, LICENCES, content=licences))
    for target in sorted(
        {
            target
            for page in files.documentation_pages()
            for target in _targets(page)
            if target.is_file() and _site_path(target) not in files.src_uris
        }
    ):
        files.append(File.generated(config, _site_path(target), abs_src_path=str(target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs' signature
    """Point the page's links and pictures at the site, and rank it in the search."""
    source = _source(page.file)
    if boost := BOOSTS.get(page.file.src_uri):
        page.meta["search"] = {"boost": boost}
    text = LINK.sub(lambda found: _link(found, source, page.file), markdown)
    return PICTURE.sub(lambda found: _picture(found, source, page.file), text)


def _source(file: File) -> Path:
    """Return a page's file in the repository."""
    root = {page: name for name, page in ROOT_PAGES.items()}
    return PROJECT / (root.get(file.src_uri) or f"docs/{file.src_uri}")


def _targets(page: File) -> set[Path]:
    source = _source(page)
    links = [found[2] for found in LINK.finditer(page.content_string)]
    local = [link for link in links if "://" not in link and not link.startswith("mailto:")]
    return {Path(os.path.normpath(source.parent / link)) for link in local}


def _site_path(target: Path) -> str:
    """Return the path in the site's sources of a file of the repository."""
    name = target.relative_to(PROJECT).as_posix()
    if name in ROOT_PAGES:
        return ROOT_PAGES[name]
    return name.removeprefix("docs/") if name.startswith("docs/") else f"{SOURCES}/{name}.txt"


def _link(found: re.Match[str], source: Path, page: File) -> str:
    text, link, anchor = found.groups(default="")
    if "://" in link or link.startswith("mailto:"):
        return found[0]
    target = Path(os.path.normpath(source.parent / link))
    if target.is_dir():
        if not (target / "README.md").is_file():
            return text  # a folder of the repository is no page
        target /= "README.md"
    if not target.is_file() or not target.is_relative_to(PROJECT):
        return found[0]  # the strict build names it
    path = os.path.relpath(_site_path(target), Path(page.src_uri).parent)
    return f"[{text}]({path}{anchor if target.suffix == '.md' else ''})"


def _picture(found: re.Match[str], source: Path, page: File) -> str:
    """Return one image for each theme, instead of one for each preference of the reader's system."""
    dark, alternative, light, rest = found.groups()
    images = []
    for path, theme in ((light, "light"), (dark, "dark")):
        target = Path(os.path.normpath(source.parent / path))
        place = os.path.relpath(_site_path(target), Path(page.src_uri).parent)
        width = f"{{ {rest.strip()} }}" if rest.strip() else ""
        images.append(f"![{alternative}]({place}#only-{theme}){width}")
    return "\n".join(images)
