"""Canary values for drops and the service, which must appear only where they are stored on purpose."""

import itertools
from collections.abc import Mapping

import httpx
import psycopg

from bms_sandbox.serve import Sandbox
from bms_sandbox.tokens import Credentials
from stack.launcher import Running

HEADER = "Matricule;Nom;Prénom;Entité;Date d'entrée;N° de sécu;Salaire de base;E-mail personnel\r\n"
PLANTED: Mapping[str, tuple[str, ...]] = {
    "name": ("Canari-Zoe",),
    "social security number": ("2 94 05 01 053 777 42", "294050105377742"),
    "salary": ("7391,57", "7391.57"),
    "e-mail": ("zoe.canari@canari.example",),
}
PHONE = ("+33 6 98 76 54 31", "+33698765431", "0698765431")


def drop(kind: str, number: int) -> bytes:
    """Return a file of three valid rows and one invalid row."""
    name, security, salary, mail = (texts[0] for texts in PLANTED.values())
    good = "".join(
        f"{number}{n:03d};{name};{kind} {n};1;2027-01-04;{security};{salary};{mail}\r\n"
        for n in range(3)
    )
    bad = f"{number}999;{name};;1;31/02/2027;{security};{salary};{mail}\r\n"
    return (HEADER + good + bad).encode("cp1252")


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
        query = 'select exists (select 1 from "{}" t where position(%s in t::text) > 0)'
        return {
            name
            for (name,) in tables
            if connection.execute(query.format(name), [text]).fetchone() == (True,)
        }


def seen(content: str | bytes, planted: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return the canary values in a content; the values are ASCII, so that encodings do not matter."""
    if isinstance(content, bytes):
        content = content.decode(errors="replace")
    return {what for what, texts in planted.items() if any(text in content for text in texts)}
