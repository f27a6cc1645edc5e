"""Files provided in an inbox: _LISEZMOI.txt and templates with all columns and an example row.

A star marks a required column: reading a header ignores punctuation, so a filled-in template is read.
"""

from collections.abc import Iterator

from upath import UPath

from bms_flows.onboarding.inbox import unclaimed
from bms_flows.onboarding.inbox.discovery import local
from bms_flows.onboarding.reading import tokens
from bms_flows.onboarding.reading.encoding import ENCODINGS
from bms_flows.onboarding.reading.numbers_and_dates import (
    WRITTEN_DATES,
    WRITTEN_NUMBERS,
    parse_date,
)
from bms_flows.onboarding.reading.parts import TEXT
from bms_flows.onboarding.reading.xlsx_writer import ALL_TEXT, SheetRow, text, xlsx_file
from bms_flows.onboarding.resources.description import ColumnKind, Field, Resource
from bms_flows.onboarding.settings import UNDECLARED, DeclaredFormat
from bms_flows.runtime.storage import write_if_changed
from bms_flows.texts import typeset

READ_ME = "_LISEZMOI.txt"
READABLE = 0o644
_KINDS: dict[ColumnKind, str] = {
    "text": "texte / text",
    "integer": "nombre entier / whole number",
    "decimal": "nombre / number ({decimal})",
    "boolean": "oui ou non / yes or no",
    "date": "date ({date})",
    "integers": "nombres / numbers (3|7)",
}
_DECLARED = (
    "- {what} de cette boîte : {written}. Le reste est refusé.\n",
    "- {what} of this inbox: {written}. Others are refused.\n",
)
_DATES = {
    "dmy": "31/12/2026, 2026-12-31",
    "mdy": "12/31/2026, 2026-12-31",
    "ymd": "2026-12-31",
}
_STRFTIME = {"dmy": "%d/%m/%Y", "mdy": "%m/%d/%Y", "ymd": "%Y-%m-%d"}
_FRENCH = """\
{title}
{underline}

Déposez ici un fichier .csv ou .xlsx. Il est pris en charge une à deux minutes après la fin de la copie.

- Modèles avec toutes les colonnes et un exemple : {csv}, {xlsx}. Une étoile (*)
  marque une colonne obligatoire. Effacez l'exemple, et les colonnes dont vous n'avez pas besoin ;
  enregistrez sous un nom sans "_" au début.
- Une ligne par personne, les en-têtes dans n'importe quel ordre. Majuscules, accents et espaces des
  en-têtes n'importent pas ; le nom technique convient toujours.
- Titre au-dessus des en-têtes, lignes vides et totaux sont passés. Une colonne remplie sans champ n'est
  pas envoyée : il faut alors un accord. Dans le tableau, pas de cellules fusionnées ; pas de mot de passe.
- CSV : séparateur ; ou , ou tabulation ; UTF-8, UTF-16 ou Windows-1252. Si la dernière ligne ne se
  termine pas par un retour à la ligne, le fichier peut être encore en cours d'écriture : il est pris
  quand il ne change plus, et rien n'est créé sans approbation.
- Noms en .part, .tmp ou ~$ : fichiers en cours d'écriture, ignorés.
- Un fichier ou un dossier qui n'est pas pris est expliqué dans {skipped_files}.
{formats}- Excel retire les zéros d'un matricule ou d'un numéro tapé dans un CSV : préférez le modèle .xlsx, dont
  les colonnes sont au format Texte. Le fichier est lu tel qu'Excel l'affiche ; lignes et colonnes masquées,
  lignes barrées : refusées. Les commentaires et les couleurs ne sont pas lus.
{advice}
Réponse : sur la page {page}
ouvrez le dépôt, puis son compte rendu. Les mêmes fichiers sont dans reports/{inbox}/<numéro>-<date>/ :
created.csv, rejected.xlsx, rejected.csv, needs_review.csv, receipt.json.

Corrigez rejected.xlsx dans Excel (rejected.csv dans un éditeur de
texte) et déposez-le ici. Ne modifiez pas ses colonnes en _ (la raison est la première) : elles ne créent rien, mais
gardent ce que le fichier contenait.

Colonnes / Columns (* obligatoire / required)
"""
_ENGLISH = """\

In English
==========

Drop a .csv or .xlsx file here. It is taken one or two minutes after the copy ends.

- {csv} and {xlsx} are templates with all columns and an example. A star (*) marks
  a required column. Remove the example and the columns you don't need; save under a name that doesn't
  begin with "_".
- One row for each person, headers in any order. Case, accents and spaces of headers don't matter.
- A title above the headers, blank rows and totals are left out. A filled column without a field is not
  sent, and then the plan needs approval. No merged cells in the table, no password.
- A CSV whose last line has no line break is taken once it stays unchanged, and needs approval.
- {skipped_files} explains every file or folder that isn't taken.
{formats}- Excel takes the zeros off numbers typed into a CSV: prefer the .xlsx template, whose columns are text.
  What Excel shows is what is read; hidden rows, hidden filled columns and struck rows are
  refused. Comments and colours are not read.
{advice}
Answer: open {page}
then the drop and its report; reports/{inbox}/ has the same files.

Correct rejected.xlsx in Excel (rejected.csv in a text editor) and drop it here. Leave its columns
that begin with _ unchanged (the first is the reason): they create nothing, and hold what the file contained.
"""


def names(resource: Resource) -> frozenset[str]:
    """Return the names of our own files in an inbox."""
    return frozenset({READ_ME, csv_name(resource), xlsx_name(resource), unclaimed.NAME})


def csv_name(resource: Resource) -> str:
    """Return the name of the CSV template."""
    return f"_modele_{resource.inbox}.csv"


def xlsx_name(resource: Resource) -> str:
    """Return the name of the workbook template."""
    return f"_modele_{resource.inbox}.xlsx"


def provide(
    inbox: UPath, resource: Resource, declared: DeclaredFormat = UNDECLARED, *, page: str
) -> None:
    """Create the inbox and write its files where they are missing or differ; safe to repeat.

    `page` is the address of the page that lists the drops of the inbox.

    A folder is group-writable whatever the umask is; its files contain no personal data and are
    readable by all users.
    """
    here = local(inbox)
    if here is not None and not here.exists():
        here.mkdir(parents=True, exist_ok=True)
        here.chmod(0o770)
    for name, content in (
        (READ_ME, read_me(resource, declared, page=page)),
        (csv_name(resource), csv_template(resource, declared)),
        (xlsx_name(resource), xlsx_template(resource, declared)),
    ):
        write_if_changed(inbox / name, content, READABLE)


def csv_template(resource: Resource, declared: DeclaredFormat = UNDECLARED) -> bytes:
    """Return a CSV as French Excel writes and opens it: `;`, UTF-8 with its mark, CRLF."""
    rows = _rows(resource, declared)
    text = "".join(";".join(tokens.quoted(cell, ";") for cell in row) + "\r\n" for row in rows)
    return ENCODINGS["utf-8-sig"].encode(text)


def xlsx_template(resource: Resource, declared: DeclaredFormat = UNDECLARED) -> bytes:
    """Return a workbook whose columns are text, so that Excel changes no number and no date."""
    lines = [SheetRow([text(cell, TEXT) for cell in row]) for row in _rows(resource, declared)]
    return xlsx_file(resource.inbox, lines, ALL_TEXT)


def _rows(resource: Resource, declared: DeclaredFormat) -> list[list[str]]:
    """Return the header and the example row, written as the inbox declares."""
    fields = resource.fields
    headers = [f"{field.label}{' *' * (field.name in resource.required)}" for field in fields]
    return [headers, [_example(each, declared) for each in fields]]


def _example(field: Field, declared: DeclaredFormat) -> str:
    if field.kind == "date" and field.example:
        return f"{parse_date(field.example, 'dmy'):{_STRFTIME[declared.date_order]}}"
    if field.kind == "decimal" and declared.decimal_mark == ".":
        return field.example.replace(",", ".")
    return field.example


def read_me(resource: Resource, declared: DeclaredFormat = UNDECLARED, *, page: str) -> bytes:
    """Return the inbox's instructions, first in French, for Notepad: UTF-8 with its mark, CRLF."""
    french, english = (
        text.format(
            title=resource.title,
            underline="=" * len(resource.title),
            inbox=resource.inbox,
            page=page,
            csv=csv_name(resource),
            xlsx=xlsx_name(resource),
            formats=_formats(declared, language),
            skipped_files=unclaimed.NAME,
            advice=resource.advice[language],
        )
        for language, text in enumerate((_FRENCH, _ENGLISH))
    )
    text = typeset(french + "".join(_lines(resource, declared))) + english
    return ENCODINGS["utf-8-sig"].encode(text.replace("\n", "\r\n"))


def _formats(declared: DeclaredFormat, language: int) -> str:
    """Return how dates and numbers are to be written; `language`: 0 for French, 1 for English."""
    order, line = declared.date_order, _DECLARED[language]
    examples = _DATES[order].replace(", ", (" ou ", " or ")[language])
    text = line.format(what="Dates", written=f"{WRITTEN_DATES[order]} ({examples})")
    if (mark := declared.decimal_mark) is not None:
        what = ("Nombres", "Numbers")[language]
        text += line.format(what=what, written=WRITTEN_NUMBERS[mark])
    return text


def _lines(resource: Resource, declared: DeclaredFormat) -> Iterator[str]:
    decimal = f"2850{declared.decimal_mark or ','}50"
    for field in resource.fields:
        star = "*" if field.name in resource.required else " "
        kind = _KINDS[field.kind].format(decimal=decimal, date=_DATES[declared.date_order])
        yield f"{star} {field.label} [{field.name}] : {kind}{_others(field)}\n"


def _others(field: Field) -> str:
    return f" ; aussi / also: {', '.join(field.aliases[1:])}" if field.aliases[1:] else ""
