"""Fuzzing of the sandbox through its OpenAPI document, with valid and invalid requests by Schemathesis.

    python -m proofs.contract_fuzz > proofs/results/contract_fuzz.md

Calls every operation in two dialects, with a token of all scopes. Exits with 1 after a server
error, a status, content type or body that the document does not have, an accepted invalid request,
a way around the token, or an operation without a successful response.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from bms_sandbox.operations import OPERATIONS
from bms_sandbox.serve import Sandbox, running
from bms_sandbox.tokens import Credentials
from proofs.page import command, heading, show
from tests.support.virtual_environment import python_of, versions_of

LOCK = Path(__file__).parent / "requirements" / "schemathesis.lock"
SEED: Final = 1
REQUESTS: Final = 300
"""Generated for each operation and dialect, in addition to the document's examples and bounds."""
STRICT: Final = {"nulls": "absent", "create_status": 200}
"""What the interface shows, to the letter: no field of an answer is null, creations answer 200."""
READINGS: Final[dict[str, dict[str, Any]]] = {
    "defaults": STRICT,
    "otherwise": STRICT
    | {
        "base_path": "/tenant/api",
        "created_id": "named_object",
        "date_format": "zone",
        "datetime_format": "utc_ms",
        "default_filter": "ALL",
        "end_date": "exclusive",
        "error_body": "problem",
        "extra_fields": True,
        "list_order": "name",
        "page_size_max": 100,
        "page_size_over": "refuse",
        "past_end": "not_found",
        "range_date": "due_date",
        "required_fields": "none",
        "unknown_entity": "not_found",
    },
}
HEAD: Final = (
    "reading", "operations that answered well", "findings", "cases", "requests", "of these answered 200", "s",
)  # fmt: skip
NOT_OURS: Final = "positive_data_acceptance"
"""The interface names no field as needed and no bounds; that a service has some is a dialect's."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one dialect: requests by status, findings by title, operations without a successful response."""

    answers: dict[str, dict[str, int]]
    cases: int
    findings: dict[str, list[str]]
    unanswered: list[str]
    seconds: float
    output: str

    @property
    def good(self) -> bool:
        """Return whether there was no finding and every operation was reached."""
        return not self.findings and not self.unanswered


def main(*, requests: int = REQUESTS) -> bool:
    """Play every reading; print the page, and return whether there was no finding."""
    outcomes = {name: attacked(dialect, requests) for name, dialect in READINGS.items()}
    for found in outcomes.values():
        if not found.good:
            print(found.output, *found.unanswered, sep="\n", file=sys.stderr)
    heading(
        "The sandbox, attacked through its own document",
        f"Schemathesis {versions_of(LOCK)['schemathesis']}, seed {SEED}, {requests} requests generated for each operation and"
        " dialect, besides examples and bounds. ",
    )
    show(HEAD, (row(name, found) for name, found in outcomes.items()), texts=3)
    otherwise = (
        f"`{name}={value}`" for name, value in READINGS["otherwise"].items() if name not in STRICT
    )
    print(
        f"Checks: all but `{NOT_OURS}`, since the interface names neither required fields nor bounds.\n"
        "Both dialects leave fields without value out, and create with 200.\n"
        f"Otherwise: {', '.join(otherwise)}."
    )
    return all(found.good for found in outcomes.values())


def attacked(dialect: dict[str, Any], requests: int) -> Outcome:
    """Run Schemathesis with a separate sandbox that speaks `dialect`."""
    program = python_of(LOCK).with_name("st")
    frozen = ("--today", "2026-03-31T18:00:00", "--frozen")
    with (
        running(dialect=dialect, options=frozen) as sandbox,
        tempfile.TemporaryDirectory() as place,
    ):
        base = sandbox.url + dialect.get("base_path", "")
        document, report = Path(place, "openapi.json"), Path(place, "report.json")
        document.write_text(
            json.dumps(prepared(httpx.get(f"{base}/openapi.json", trust_env=False).json(), sandbox))
        )
        bearer = f"Authorization: Bearer {token(base, sandbox.credentials)}"
        sandbox.reset_counts()
        started = time.monotonic()
        run = subprocess.run(  # noqa: S603 -> the pinned program, arguments from here
            [
                program,
                *("run", document, "--url", base, "--header", bearer),
                *("--checks", "all", "--exclude-checks", NOT_OURS, "--continue-on-failure"),
                *("--seed", str(SEED), "--max-examples", str(requests)),
                "--generation-deterministic",
                *("--report", "json", "--report-json-path", report, "--no-color"),
            ],
            cwd=place,
            env=os.environ | {"NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds, answers = time.monotonic() - started, sandbox.truth()["requests"]
        reported = json.loads(report.read_text()) if report.exists() else {}
    findings = {each["title"]: each["operations"] for each in reported.get("failures", [])}
    if run.returncode and not findings:
        findings["the program itself failed"] = [f"exit status {run.returncode}"]
    return Outcome(
        answers=answers,
        cases=reported.get("test_cases", {}).get("generated", 0),
        findings=findings,
        unanswered=[o.name for o in OPERATIONS if "200" not in answers.get(o.name, {})],
        seconds=seconds,
        output=run.stdout + run.stderr,
    )


def prepared(document: dict[str, Any], sandbox: Sandbox) -> dict[str, Any]:
    """Add to the document what it cannot express.

    What exists and no drawing would guess: ids, an entity, the credentials. That null in a new
    record means no value, and that a token is asked for without one: our assumptions.
    """
    known = {
        "guid_employee": sandbox.rows("employees")[0]["guid_employee"],
        "id_contact": sandbox.rows("contacts")[0]["id"],
        "id_consultant": sandbox.rows("consultants")[0]["id"],
        "id_entity": 1,
        **asdict(sandbox.credentials),
        "first_name": "Zoé",
        "last_name": "Lefèvre",
    }
    for operation in (each for methods in document["paths"].values() for each in methods.values()):
        for parameter in operation.get("parameters", []):
            if parameter["name"] in known:
                parameter["example"] = known[parameter["name"]]
    document["paths"]["/v1/token"]["post"]["security"] = []
    schemas = document["components"]["schemas"]
    schemas |= {n: nullable(each, schemas) for n, each in schemas.items() if n.endswith("Creation")}
    for schema in schemas.values():
        for name, field in schema.get("properties", {}).items():
            if name in known:
                field["example"] = known[name]
    return document


def nullable(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` without references, each member of its objects possibly null."""
    if "$ref" in schema:
        return nullable(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    changed = {}
    if "items" in schema:
        changed["items"] = nullable(schema["items"], schemas)
    if "properties" in schema:
        changed["properties"] = {
            name: {"anyOf": [nullable(field, schemas), {"type": "null"}]}
            for name, field in schema["properties"].items()
        }
    return schema | changed


def token(base: str, login: Credentials) -> str:
    """Return a token of all scopes."""
    bearer = {"Authorization": "Bearer any"}
    answer = httpx.post(f"{base}/v1/token", json=asdict(login), headers=bearer, trust_env=False)
    return str(answer.json()["access_token"])


def row(name: str, found: Outcome) -> Sequence[object]:
    """Return a reading's row of the table."""
    well = sum(count for each in found.answers.values() for s, count in each.items() if s == "200")
    total = sum(count for each in found.answers.values() for count in each.values())
    findings = (f"{title}: {', '.join(at)}" for title, at in found.findings.items())
    reached = f"{len(OPERATIONS) - len(found.unanswered)} of {len(OPERATIONS)}"
    counts = (f"{each:,}" for each in (found.cases, total, well))
    return name, reached, "; ".join(findings) or "none", *counts, f"{found.seconds:.0f}"


if __name__ == "__main__":
    command(main)
