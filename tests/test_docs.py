"""Documents agree with the code: commands, DAGs, operators, fields, tables, settings, links."""

import ast
import dataclasses
import importlib
import itertools
import json
import re
import runpy
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bms.settings import ClientSettings
from bms_flows.catalog import FLOWS, WITH_TARGET
from bms_flows.runtime.settings import FlowSettings, constants
from bms_flows.texts import FAULTS, NO_BREAK, SKIPPED, WAITING
from bms_provider.provider_info import CONNECTION_FIELDS
from bms_sandbox.dialect import Dialect
from bms_warehouse.resources import RESOURCES, WITH_PRIVATE_FIELDS
from bms_warehouse.tables import METADATA, PRIVATE_METADATA
from tests.support.published import git
from tests.support.words import counts, pages

pytestmark = pytest.mark.bookkeeping

PROJECT = Path(__file__).parent.parent
REFERENCE = {file.stem: file.read_text() for file in (PROJECT / "docs/reference").glob("*.md")}
GUIDES = "".join(
    file.read_text() for file in [PROJECT / "README.md", *PROJECT.glob("docs/install/*.md")]
)
ASSUMPTIONS = (PROJECT / "docs/assumptions.md").read_text()
DOCUMENTS = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")])
WRITE = "run .venv/bin/python scripts/reference"
STACK_VARIABLES = re.compile(r"BMS_(?:STACK|SANDBOX|LOCAL)_[A-Z_]+")


def flow_settings() -> dict[str, Any]:
    """Return the default of every `BMS_` variable that the flows read."""
    found = {}
    for file in (PROJECT / "include/bms_flows").rglob("settings.py"):
        module = ".".join(file.relative_to(PROJECT / "include").with_suffix("").parts)
        settings = settings_class(importlib.import_module(module))
        fixed = constants(settings)
        for field in dataclasses.fields(settings):
            if field.name in fixed:
                continue
            found[f"BMS_{field.name.upper()}"] = getattr(settings(), field.name)
    del found["BMS_DETAILS"]
    found["BMS_FRESH_HOURS"] = json.dumps({flow.dag_id: flow.fresh_hours for flow in WITH_TARGET})
    for resource in WITH_PRIVATE_FIELDS:
        found[f"BMS_{resource.details_level.upper()}"] = FlowSettings().details_of(resource.name)
    return found


def settings_class(module: ModuleType) -> Any:
    """Return the settings class that a module defines."""
    [found] = (
        each
        for name, each in vars(module).items()
        if name.endswith("Settings") and each.__module__ == module.__name__
    )
    return found


FLOW_SETTINGS = flow_settings()


def tracked() -> list[Path]:
    """Return the files of the project that are text."""
    listed = git("ls-files", "-z").split("\0")
    files = (PROJECT / name for name in listed if name and not name.endswith((".png", ".xlsx")))
    return [file for file in files if file.is_file()]


@pytest.mark.parametrize("dag", sorted(FLOWS))
def test_the_reference_names_every_dag(dag: str) -> None:
    assert f"| `{dag}` |" in REFERENCE["dags"], WRITE


def test_pages_stay_short() -> None:
    by_hand = {page: counts(page)[0] for page in pages()}
    assert by_hand[PROJECT / "README.md"] <= 900
    assert by_hand[PROJECT / "docs/fr/depot-rh.md"] <= 1_200
    assert sum(by_hand.values()) <= 30_000
    generated = [counts(page)[1] for page in pages()]
    assert sum(generated) <= 15_000


def test_unpause_commands_start_only_our_dags() -> None:
    """Airflow looks for the pattern anywhere in the ids of all DAGs there are."""
    dags = {*FLOWS}
    patterns = re.findall(r"unpause (?:--yes )?--treat-dag-id-as-regex '([^']+)'", GUIDES)
    started = {dag for pattern in patterns for dag in dags if re.search(pattern, dag)}
    assert started == dags - {"freshness_watchdog"}
    for pattern in patterns:
        assert not [dag for dag in dags if re.search(pattern, f"their_{dag}_of_old")]


@pytest.mark.parametrize("table", [*METADATA.tables.values(), *PRIVATE_METADATA.tables.values()])
def test_the_reference_names_every_table_and_column(table: Any) -> None:
    """A table of earlier versions is in the list of these; its columns are those of its table."""
    page, name = REFERENCE["tables"], table.fullname
    if name.endswith("_superseded"):
        assert (
            f"`{name.removeprefix('bms.')}`" in page.partition("Earlier versions of rows: ")[2]
        ), WRITE
        return
    section = page.partition(f"### {name}\n")[2].partition("\n### ")[0]
    assert f"| `{name.removeprefix('bms.')}` | {table.comment} |" in page, WRITE
    assert [column.name for column in table.columns if f"`{column.name}`" not in section] == []
    several = page.partition("### Columns of several tables\n")[2].partition("\n### ")[0]
    shared = re.findall(r"`(\w+)`", section.partition("\nAnd ")[2])
    assert [name for name in shared if f"- `{name}`" not in several] == []


def test_the_reference_names_every_view_function_and_role_for_readers() -> None:
    migrations = PROJECT / "include/bms_warehouse/migrations/versions"
    schema = "".join(file.read_text() for file in sorted(migrations.glob("*.sql")))
    named = re.findall(r"create (?:view bms\.|function bms\.|role )(\w+)", schema)
    assert {"client_invoice_current", "client_invoice_as_of", "bms_analyst"} <= {*named}
    assert [name for name in named if name not in REFERENCE["tables"]] == []


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.name)
def test_the_page_on_personal_data_names_each_mirror_and_its_responses(resource: Any) -> None:
    restricted = f"{resource.name}_private"
    names = [f"bms.{resource.name}", f"raw/{resource.name}"]
    names += [f"bms_private.{restricted}", f"raw/{restricted}"] * bool(resource.private_columns)
    page = (PROJECT / "docs/security.md").read_text()
    lacking = [name for name in names if f"`{name}`" not in page]
    assert not lacking, WRITE


def test_the_dag_of_retention_names_every_setting_of_a_retention() -> None:
    document = ast.get_docstring(ast.parse((PROJECT / "dags/retention.py").read_text())) or ""
    kept = [variable for variable in FLOW_SETTINGS if variable.startswith("BMS_KEEP_")]
    assert len(kept) == 3
    assert [variable for variable in kept if f"`{variable}`" not in document] == []


@pytest.mark.parametrize("variable", sorted(FLOW_SETTINGS))
def test_the_reference_gives_every_setting_its_default(variable: str) -> None:
    default = written(FLOW_SETTINGS[variable])
    assert f"| `{variable}` |{f' `{default}`' if default else ''} |" in REFERENCE["settings"], WRITE


def test_the_reference_lists_no_setting_that_is_not_there() -> None:
    table = REFERENCE["settings"].partition("<!-- /settings -->")[0]
    listed = set(re.findall(r"^\| `(BMS_\w+)` \|", table, re.MULTILINE))
    assert listed == FLOW_SETTINGS.keys()


def test_the_reference_names_every_variable_of_the_local_stack() -> None:
    used = {
        variable
        for file in (PROJECT / "stack").glob("*.py")
        for variable in STACK_VARIABLES.findall(file.read_text())
    }
    assert used
    assert {variable for variable in used if variable not in REFERENCE["settings"]} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(PROJECT)))
def test_commands_that_a_document_names_are_there(document: Path) -> None:
    text = document.read_text()
    targets = set(re.findall(r"^([a-z]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)`|^make ([a-z]+)", text, re.MULTILINE)) <= {
        pair for target in targets for pair in ((target, ""), ("", target))
    }
    scripts = re.findall(r"(?<![\w/])((?:scripts|deploy|\.ci)/[\w.]+)", text)
    assert [script for script in scripts if not (PROJECT / script).exists()] == []
    modules = re.findall(r"python -m (bms_\w+(?:\.\w+)*|stack)\b", text)
    assert [module for module in modules if not runs(module)] == []


def runs(module: str) -> bool:
    """Return whether `python -m module` is a command: a package with a main module, or a module with one."""
    path = module.replace(".", "/")
    return any(
        (home / path / "__main__.py").exists()
        or ((file := home / f"{path}.py").exists() and "__main__" in file.read_text())
        for home in (PROJECT / "include", PROJECT)
    )


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    # Read as text: the file names a Python function, which only MkDocs loads.
    text = (PROJECT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    listed = set(re.findall(r"([\w/-]+\.md)$", text, re.MULTILINE))
    folders = tuple(re.findall(r"([\w-]+/)$", text, re.MULTILINE))
    pages = {str(file.relative_to(PROJECT / "docs")) for file in PROJECT.glob("docs/**/*.md")}
    pages = {page for page in pages if not page.startswith(folders)}
    assert listed - {"index.md", "contributing.md", "changelog.md", "licences.md"} == pages


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(PROJECT)))
def test_links_inside_the_project_lead_somewhere(document: Path) -> None:
    text = document.read_text()
    links = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
    for link in (one or other for one, other in links):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        if anchor and target.suffix == ".py":
            assert f"def {anchor}(" in target.read_text(), link
        elif anchor:
            assert anchor in anchors(target.read_text()), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(PROJECT)))
def test_files_that_a_document_names_exist(document: Path) -> None:
    named = re.findall(
        r"(?<![\w/.])((?:bench|dags|deploy|include|plugins|proofs|scripts|stack|tests)/[\w/.-]+\.\w+)",
        document.read_text(),
    )
    assert [name for name in named if not (PROJECT / name).exists()] == []


PROOFS = re.compile(r"\]\(\.\./(tests/[\w/]+\.py)#(test_\w+)\)")


def rows(page: str) -> list[list[str]]:
    """Return the cells of each row of a page's tables, without the heads."""
    lines = re.findall(
        r"^\|(.+)\|$", re.sub(r"^.+\n\|[-| :]+\|$", "", page, flags=re.MULTILINE), re.MULTILINE
    )
    return [
        [cell.strip() for cell in re.split(r"(?<!\\) \| |^ | $", line) if cell] for line in lines
    ]


def test_every_guarantee_names_tests_that_are_in_their_file() -> None:
    guarantees = rows((PROJECT / "docs/guarantees.md").read_text())
    assert len(guarantees) > 55
    assert [promise for promise, _, proof in guarantees if not PROOFS.search(proof)] == []
    named = [found for _, _, proof in guarantees for found in PROOFS.findall(proof)]
    assert len(named) > 100
    missing = [name for file, name in named if f"def {name}(" not in (PROJECT / file).read_text()]
    assert missing == []


def test_the_guide_of_hr_users_quotes_the_reasons_that_they_read() -> None:
    """An ellipsis stands for the rest of a reason."""
    guide = (PROJECT / "docs/fr/depot-rh.md").read_text()
    shown = [text["FR"].meaning for text in {**FAULTS, **WAITING, **SKIPPED}.values()]
    reasons = [text.replace(NO_BREAK, " ") for text in shown]
    rows = re.findall(r"\n\| Raison \| [^\n]+\n\| --- \| --- \|\n((?:\|[^\n]+\n)+)", guide)
    quoted = [row.split("|")[1].strip() for table in rows for row in table.splitlines()]
    assert len(quoted) > 9
    unknown = [
        quote
        for quote in quoted
        if not any(
            reason.startswith(quote[:-1]) if quote.endswith("…") else reason == quote
            for reason in reasons
        )
    ]
    assert unknown == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(PROJECT)))
def test_every_table_renders(document: Path) -> None:
    """A table is a head, a separator and rows, each on its line, with as many cells."""
    text = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    lines = [re.sub(r"`[^`]*`", "code", line.strip()) for line in text.splitlines()]
    assert [
        line for line in lines if re.search(r"\|[ :]*-{3,}", line) and re.search(r"[^-|: ]", line)
    ] == []
    width = 0
    for before, line in itertools.pairwise(["", *lines]):
        if line.startswith("|") and re.fullmatch(r"[-|: ]+", line):
            width = len(cells(line))
            assert before.startswith("|"), line
            assert len(cells(before)) == width, before
        elif line.startswith("|"):
            assert not width or len(cells(line)) == width, line
        else:
            width = 0


def cells(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return re.split(r"(?<!\\)\|", line.strip("|"))


def anchors(text: str) -> set[str]:
    """Return the anchors of a Markdown page: those of its headings, and those that it declares."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", h.replace("\n", " ")).strip().lower().replace(" ", "-")
        for h in headings
    } | set(re.findall(r'<a id="([^"]+)">', text))


# What the interface leaves open


def test_every_point_of_the_assumptions_has_a_setting_or_says_none() -> None:
    points = rows(ASSUMPTIONS)
    assert len(points) > 40
    assert [
        point for point, _, setting, *_ in points if setting != "none" and "`" not in setting
    ] == []


def test_every_client_setting_that_covers_a_gap_is_explained() -> None:
    source = (PROJECT / "include/bms/settings.py").read_text()
    marked = set(
        re.findall(
            r"# (?:not shown by the interface|the interface lists)[^\n]*\n    (\w+):", source
        )
    )
    marked |= {name for name, field in CONNECTION_FIELDS.items() if "not shown" in str(field)}
    assert {"expires_in_unit", "end_date_inclusive", "token_bearer_secret"} <= marked
    assert {name for name in marked if f"`{name}` of the connection" not in ASSUMPTIONS} == set()


def test_every_flow_setting_that_covers_a_gap_is_explained() -> None:
    marked = {
        f"BMS_{setting.target.id.upper()}"
        for file in (PROJECT / "include/bms_flows").rglob("settings.py")
        for setting, text in itertools.pairwise(ast.walk(ast.parse(file.read_text())))
        if isinstance(setting, ast.AnnAssign)
        and isinstance(setting.target, ast.Name)
        and isinstance(text, ast.Expr)
        and "not shown" in ast.unparse(text)
    }
    assert "BMS_INVOICE_RANGE_DATE" in marked
    assert {variable for variable in marked if f"`{variable}`" not in ASSUMPTIONS} == set()


@pytest.mark.parametrize("gap", [field.name for field in dataclasses.fields(Dialect)])
def test_every_gap_that_the_sandbox_plays_is_explained(gap: str) -> None:
    assert f"`{gap}`" in ASSUMPTIONS


def test_defaults_in_the_assumptions_are_those_of_the_code() -> None:
    client = {field.name: field.default for field in dataclasses.fields(ClientSettings)}
    defaults = {name: written(value) for name, value in (client | FLOW_SETTINGS).items()}
    said = re.findall(r"`(\w+)`(?: of the connection)?:\s+`([^`]+)`", ASSUMPTIONS)
    told = {name: value for name, value in said if name in defaults}
    assert len(told) >= 12
    assert told == {name: defaults[name] for name in told}


def test_defaults_beside_a_setting_are_those_of_the_code() -> None:
    """A default in brackets follows its setting, as in `BMS_APPROVAL_HOURS` (72)."""
    shown = {
        (str(page.relative_to(PROJECT)), name, number.replace(",", ""))
        for page in DOCUMENTS
        for name, number in re.findall(r"`(BMS_\w+)` \((\d[\d.,]*)(?= |,|\)|;)", page.read_text())
        if name in FLOW_SETTINGS
    }
    assert len(shown) > 20
    assert [each for each in sorted(shown) if each[2] != written(FLOW_SETTINGS[each[1]])] == []


def written(default: object) -> str:
    """Return a default as the documents write it."""
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)


# What is shipped


def test_no_file_names_a_machine_or_a_registry() -> None:
    # Put together here, so that this file doesn't name them itself.
    words = [
        "/" + "root/",
        "/" + "work/",
        "/" + "home/",
        "files." + "pythonhosted",
        "index" + "-url http",
    ]
    words += ["--extra" + "-index", "://pypi" + ".", "://registry" + "."]
    found = [
        f"{file.relative_to(PROJECT)}: {word}"
        for file in tracked()
        for word in words
        if word in file.read_text(errors="replace")
    ]
    assert found == []


def test_every_package_of_the_lock_has_hashes_and_no_address() -> None:
    text = (PROJECT / "requirements.lock").read_text()
    entries = re.split(r"^(?=[\w.\[\]-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(entries) > 100
    bare = [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry]
    assert bare == []
    assert "://" not in text


def test_the_ranges_of_the_wheel_are_in_one_file() -> None:
    """requirements.txt names the packages of the user's specification, and gives ranges to all others."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *itertools.chain(*project["optional-dependencies"].values()),
    ]
    of_the_wheel = {canonicalize_name(Requirement(each).name) for each in wanted}
    lines = (PROJECT / "requirements.txt").read_text().splitlines()
    texts = [text.strip() for line in lines if (text := line.partition("#")[0])]
    texts.remove("-e .[flows,s3,celery,otel]")
    named = {each.name: each for each in map(Requirement, texts)}
    assert {name for name in named if not named[name].specifier} == of_the_wheel & named.keys()
    assert {"apache-airflow", "apache-airflow-providers-http", "pandas", "pytest"} <= named.keys()


def test_the_licence_is_the_one_that_the_project_names() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert (
        "Apache License\n                           Version 2.0"
        in (PROJECT / "LICENSE").read_text()
    )


def test_the_page_of_licences_lists_packages_of_the_lock(project: Path) -> None:
    text = str(runpy.run_path(str(project / "scripts/licences"))["page"]())
    listed = re.findall(r"^\| ([a-z][\w-]+) \|", text, re.MULTILINE)
    locked = re.findall(
        r"^([\w.-]+)(?:\[[^\]]*\])?==", (project / "requirements.lock").read_text(), re.MULTILINE
    )
    declared = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    needed = {canonicalize_name(Requirement(text).name) for text in declared["dependencies"]}
    assert needed <= {*listed}
    assert {*listed} <= {canonicalize_name(name) for name in locked}


def test_only_the_project_file_names_the_version(project: Path) -> None:
    """Images, and commands in documents, name the version; a release changes them with the project file."""
    version = tomllib.loads((project / "pyproject.toml").read_text())["project"]["version"]
    named = re.compile(
        r"(?:bms[-_](?:airflow|sandbox)(?:-dev)?(?:\[[\w,]+\])?(?::|==|-)|tag: )(\d+(?:\.\d+)*)"
    )
    images = [*project.glob("docker-compose*.yaml"), project / "deploy/kubernetes/values.yaml"]
    found = {file: {*named.findall(file.read_text())} for file in (*images, *DOCUMENTS)}
    assert [found[file] for file in images] == [{version}] * 3
    assert set().union(*found.values()) == {version}
    heading = rf"^## \[{version}\] - \d{{4}}-\d\d-\d\d$"
    assert re.search(heading, (project / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_wheel_installs_next_to_the_login_of_airflow_3_2(project: Path) -> None:
    """The FAB auth manager of Airflow 3.2.2 has Flask-Limiter 3.12, which needs rich below 14."""
    extras = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    declared = extras["optional-dependencies"]["flows"]
    (rich,) = (each for each in map(Requirement, declared) if each.name == "rich")
    assert rich.specifier.contains("13.9.4")


def test_no_guide_names_a_dag_folder_like_a_package() -> None:
    """With an `__init__.py` and its parent on the path, `dags/bms` hides the package `bms`."""
    folders = re.findall(r"bms dags --write (\S+?)`", GUIDES)
    assert folders
    assert "bms" not in {Path(each).name for each in folders if not each.startswith("/")}
