"""Canary values for drops and the service, which must appear only where they are stored on purpose."""

import itertools
from collections.abc import Mapping
from pathlib import Path

import httpx
import psycopg

from bms_sandbox.serve import Sandbox
from bms_sandbox.tokens import Credentials
from stack.launcher import Running
from tests.e2e.airflow_api import query

HEADER = "Matricule;Nom;Prénom;Entité;Date d'entrée;N° de sécu;Salaire de base;E-mail personnel\r\n"
FIRST = ("Ana", "Eva", "Mia")
PLANTED: Mapping[str, tuple[str, ...]] = {
    "name": ("Canari-Zoe",),
    "social security number": ("2 94 05 01 053", "2940501053"),
    "salary": ("7391,57", "7391.57"),
    "e-mail": ("@canari.example",),
}
"""What every person of `drop` has, in each form in which it could appear."""
PHONE = ("+33 6 98 76 54 31", "+33698765431", "0698765431")


def security_and_mail(order: int) -> tuple[str, str]:
    """Return a person's social security number, with its check key, and e-mail address."""
    key = 97 - (2940501053000 + order) % 97
    return f"2 94 05 01 053 {order:03d} {key:02d}", f"zoe{order}@canari.example"


def drop(kind: str, number: int, count: int = 3) -> bytes:
    """Return a file of some persons who can be created, and of an invalid row."""
    name, salary = PLANTED["name"][0], PLANTED["salary"][0]
    people = [
        (f"{kind} {first}", f"2027-01-{day:02d}") for day, first in enumerate(FIRST[:count], 4)
    ]
    rows = ""
    for n, (first, day) in enumerate([*people, ("", "31/02/2027")]):
        security, mail = security_and_mail(number % 50 * 10 + n)
        rows += f"{number}{n:03d};{name};{first};1;{day};{security};{salary};{mail}\r\n"
    return (HEADER + rows).encode("cp1252")


def created(stack: Running, path: str) -> int:
    """Return how many records a drop created."""
    counted = "select (counts->>'created')::int from bms.dropped_file where path = %s"
    [(number,)] = query(stack, counted, path)
    return int(number)


def sandbox_of(stack: Running) -> Sandbox:
    """Return the stack's sandbox, with the credentials that its connection has."""
    keys = stack.paths.load_secrets()
    assert stack.sandbox
    credentials = Credentials(keys.sandbox_client, "local-application", keys.sandbox_secret)
    return Sandbox(stack.sandbox, credentials)


def secrets_of(sandbox: Sandbox) -> dict[str, tuple[str, ...]]:
    """Return the connection's secret and the prefix of every token."""
    given = sandbox.credentials
    form = {
        "client_id": given.client_id,
        "application_id": given.application_id,
        "secret": given.secret,
    }
    tokens = [
        httpx.post(f"{sandbox.url}/v1/token", json=form, trust_env=False).json()["access_token"]
        for _ in range(2)
    ]
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*tokens, strict=False))
    common = "".join(one for one, _ in same)
    assert len(common) > len("eyJhbGciOiJIUzI1NiJ9."), "tokens share more than their header"
    return {"secret": (given.secret,), "token": (common,)}


def stored_in_airflow(stack: Running, text: str) -> set[str]:
    """Return the tables of Airflow's database with a text in any column."""
    metadata = stack.environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"].replace("+psycopg2", "")
    with psycopg.connect(metadata) as connection:
        tables = connection.execute(
            "select table_name from information_schema.tables where table_schema = 'public'"
        ).fetchall()
        found = 'select exists (select 1 from "{}" t where position(%s in t::text) > 0)'
        return {
            name
            for (name,) in tables
            if connection.execute(found.format(name), [text]).fetchone() == (True,)
        }


def in_logs(stack: Running, text: str) -> list[Path]:
    """Return the logs that have a text."""
    logs = [path for path in stack.paths.logs.rglob("*") if path.is_file()]
    return [path for path in logs if text in path.read_text(errors="replace")]


def seen(content: str | bytes, planted: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return the canary values in a content; the values are ASCII, so that encodings do not matter."""
    if isinstance(content, bytes):
        content = content.decode(errors="replace")
    return {what for what, texts in planted.items() if any(text in content for text in texts)}
