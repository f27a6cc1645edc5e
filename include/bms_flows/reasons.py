"""Every reason for which something is set aside or doubted: what it means, what a person can do.

The one place for these codes; docs/runbook.md has a section for each.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """A code's meaning for those who read it, and the first thing to try."""

    meaning: str
    remedy: str


COMPARE = "Compare with the service; if it is right, publish with accept_suspect, else run again."

BREACHES = {
    "amounts_differ": Reason(
        "total_excl_vat + total_vat is not total_incl_vat, to the cent.", COMPARE
    ),
    "duplicate_ids": Reason("The service returned the same invoice more than once.", COMPARE),
    "outside_window": Reason(
        "The service returned invoices of days that were not asked for.",
        "Check which date the range filters: BMS_INVOICE_RANGE_DATE and end_date_inclusive.",
    ),
    "end_date_excluded": Reason(
        "The service leaves end_date out of the range: the last day of each request is missing.",
        "Set end_date_inclusive to false on the connection, then run again.",
    ),
    "fewer_than_usual": Reason("A day has far fewer invoices than that weekday usually.", COMPARE),
    "drop": Reason("Invoices that stood here no longer come back, more than usual.", COMPARE),
    "currency_new": Reason("A currency this entity never had.", COMPARE),
    "currency_gone": Reason("A currency that stood in these days no longer comes back.", COMPARE),
    "many_quarantined": Reason(
        "More rows than usual can't be read.",
        "Look at bms.quarantine: a field may have changed its type; then run again.",
    ),
}
"""What makes a load of invoices suspect."""

ROW_FAULTS = {
    "not_an_object": Reason("The row is no JSON object.", "Report it to the service's owner."),
    "missing_key": Reason("The row has no identifier.", "Report it to the service's owner."),
    "missing_money": Reason("An amount is absent or null.", "Report it to the service's owner."),
    "bad_type": Reason("A key or amount is of another type.", "Report it to the service's owner."),
    "bad_integer": Reason("A number does not fit 64 bits.", "Report it to the service's owner."),
    "bad_amount": Reason(
        "An amount has more digits than can be kept exactly.", "Report it to the service's owner."
    ),
    "bad_boolean": Reason("Neither true nor false.", "Report it to the service's owner."),
    "bad_date": Reason("A day that can't be read.", "Report it to the service's owner."),
    "bad_datetime": Reason("A time that can't be read.", "Report it to the service's owner."),
    "bad_json": Reason("A structure that can't be kept.", "Report it to the service's owner."),
    "bad_text": Reason("A text with a NUL in it.", "Correct the field in the service."),
    "duplicate_id": Reason("The same identifier came twice; the first stays.", COMPARE),
}
"""What puts a single row into quarantine."""


@dataclass(frozen=True)
class Answer:
    """A fault's text for those who dropped the file, in French and English, and what to do."""

    french: str
    english: str
    hint: str


DROP_FAULTS = {
    # the file
    "bad_kind": Answer(
        "Ce type de fichier n'est pas lu.",
        "This kind of file is not read.",
        "Enregistrer en .csv ou .xlsx. / Save it as .csv or .xlsx.",
    ),
    "too_big": Answer(
        "Le fichier dépasse la limite : {what}, {limit} au plus.",
        "The file is beyond the limit: {what}, {limit} at most.",
        "Déposer plusieurs fichiers plus petits. / Drop several smaller files.",
    ),
    "empty_file": Answer(
        "Le fichier ne contient aucune ligne.",
        "The file holds no row.",
        "Partir du modèle de la boîte de dépôt. / Start from the inbox's template.",
    ),
    "bad_encoding": Answer(
        "Les caractères du fichier ne sont ni UTF-8, ni UTF-16, ni Windows-1252.",
        "The file's characters are neither UTF-8, UTF-16 nor Windows-1252.",
        'Enregistrer en "CSV UTF-8". / Save it as "CSV UTF-8".',
    ),
    "bad_quoting": Answer(
        'Un guillemet (") est mal placé ou jamais refermé ; la suite est illisible.',
        'A quote (") stands where it must not, or never ends; what follows is unreadable.',
        "Corriger la cellule, ou enregistrer depuis Excel. / Mend the cell, or save from Excel.",
    ),
    "bad_workbook": Answer(
        "Le classeur est illisible : {why}.",
        "The workbook can't be read: {why}.",
        "L'ouvrir et l'enregistrer à nouveau en .xlsx. / Open it and save it again as .xlsx.",
    ),
    "several_sheets": Answer(
        "Plusieurs feuilles du classeur ont ces en-têtes.",
        "More than one sheet of the workbook has these headers.",
        "N'en garder qu'une. / Keep one of them.",
    ),
    "merged_cells": Answer(
        "La feuille contient des cellules fusionnées.",
        "The sheet has merged cells.",
        "Défusionner et remplir chaque cellule. / Unmerge and fill in each cell.",
    ),
    "no_header": Answer(
        "Aucun en-tête connu sur la première ligne remplie.",
        "The first filled line has no known header.",
        "Reprendre les en-têtes du modèle. / Take the template's headers.",
    ),
    "unknown_column": Answer(
        "En-tête inconnu.",
        "Unknown header.",
        "Le corriger ou supprimer la colonne ; voir _LISEZMOI.txt. / Correct it or remove the column.",
    ),
    "unnamed_column": Answer(
        "Une colonne remplie n'a pas d'en-tête.",
        "A filled column has no header.",
        "Lui donner un en-tête ou la supprimer. / Give it a header or remove it.",
    ),
    "duplicate_header": Answer(
        "Deux colonnes désignent le même champ.",
        "Two columns name the same field.",
        "N'en garder qu'une. / Keep one of them.",
    ),
    # the row
    "cell_count": Answer(
        "La ligne a {found} cellules, l'en-tête {expected}.",
        "The row has {found} cells, the header {expected}.",
        "Mettre entre guillemets les cellules avec séparateur. / Quote cells that hold the delimiter.",
    ),
    "example_row": Answer(
        "C'est la ligne d'exemple du modèle.",
        "This is the template's example row.",
        "La supprimer. / Remove it.",
    ),
    "swallowed_rows": Answer(
        "Une cellule contient d'autres lignes du fichier.",
        "A cell holds other rows of the file.",
        'Chercher un guillemet (") en trop. / Look for a quote (") too many.',
    ),
    # the cell
    "mojibake": Answer(
        "Caractères abîmés par un mauvais encodage.",
        "Characters broken by a wrong encoding.",
        "Corriger les accents, enregistrer en UTF-8. / Mend the accents, save as UTF-8.",
    ),
    "control_character": Answer(
        "Caractère invisible interdit.",
        "A control character that may not be there.",
        "Ressaisir la cellule. / Type the cell anew.",
    ),
    "cell_too_long": Answer(
        "Plus de {limit} caractères.",
        "More than {limit} characters.",
        "Raccourcir. / Shorten it.",
    ),
    "missing_cell": Answer(
        "La cellule manquait dans le fichier d'origine.",
        "The cell was missing in the original file.",
        "La remplir ou la vider. / Fill it in or clear it.",
    ),
    "excel_error": Answer(
        "Excel affiche une erreur dans cette cellule.",
        "Excel shows an error in this cell.",
        "Remplacer la formule par sa valeur. / Replace the formula by its value.",
    ),
    "formula_without_value": Answer(
        "La formule n'a pas de valeur enregistrée.",
        "The formula has no value stored.",
        "Remplacer la formule par sa valeur. / Replace the formula by its value.",
    ),
    "scientific_notation": Answer(
        "Excel a remplacé le texte par un nombre arrondi (1,23E+14).",
        "Excel has put a rounded number (1.23E+14) in place of the text.",
        "Mettre la colonne au format Texte et ressaisir. / Format the column as text, type it anew.",
    ),
    "not_text": Answer(
        "Excel a enregistré un nombre ou une date à la place du texte.",
        "Excel has stored a number or a date in place of the text.",
        "Mettre la cellule au format Texte et ressaisir. / Format the cell as text, type it anew.",
    ),
    "bad_integer": Answer(
        "Ce n'est pas un nombre entier.",
        "Not a whole number.",
        "Écrire par exemple 100. / Write for example 100.",
    ),
    "bad_decimal": Answer(
        "Ce n'est pas un nombre.",
        "Not a number.",
        "Écrire par exemple 2850,50. / Write for example 2850.50.",
    ),
    "ambiguous_number": Answer(
        "Nombre ambigu : décimales ou milliers ?",
        "Ambiguous number: decimals or thousands?",
        "Écrire 1234 ou 1,2340 sans séparateur de milliers. / Write 1234, or 1.2340.",
    ),
    "not_the_declared_decimal": Answer(
        "Ce nombre n'est pas écrit comme cette boîte le déclare : {declared}.",
        "The number is not written as this inbox declares: {declared}.",
        "Écrire {declared}. / Write {declared}.",
    ),
    "bad_boolean": Answer(
        "Ni oui ni non.",
        "Neither yes nor no.",
        "Écrire oui ou non. / Write oui or non (yes or no).",
    ),
    "bad_date": Answer(
        "Ce n'est pas une date.",
        "Not a date.",
        "Écrire 2026-12-31 ou 31/12/2026. / Write 2026-12-31.",
    ),
    "ambiguous_date": Answer(
        "Date ambiguë : rien dans la colonne ne dit si le jour ou le mois vient d'abord.",
        "Ambiguous date: nothing in the column says whether day or month comes first.",
        "Écrire les dates de la colonne en 2026-12-31. / Write the column's dates as 2026-12-31.",
    ),
    "not_the_declared_date": Answer(
        "Cette date n'est pas au format que cette boîte déclare : {declared}.",
        "The date is not in the format that this inbox declares: {declared}.",
        "Écrire {declared}, ou 2026-12-31. / Write {declared}, or 2026-12-31.",
    ),
    "two_digit_year": Answer(
        "L'année n'a que deux chiffres.",
        "The year has two digits only.",
        "Écrire l'année en entier. / Write the whole year.",
    ),
    "bad_integers": Answer(
        "Ce n'est pas une liste de nombres entiers.",
        "Not a list of whole numbers.",
        "Écrire par exemple 3|7. / Write for example 3|7.",
    ),
}
"""What makes a dropped file, a row or a cell refused; the texts quote no cell."""


WAITING = {
    "growing": Reason(
        "The file changes from one look to the next.",
        "Nothing, while it is being copied; else find out what writes to it.",
    ),
    "being_written": Reason(
        "A program of this machine holds the file open for writing.",
        "Close it there, or end the copy.",
    ),
    "incomplete": Reason(
        "The file's last line has no end: the rest of it may still be on its way.",
        "If it is whole, add a line's end to it, or trigger its DAG with the drop's number: it is"
        " then taken as it is.",
    ),
    "unreadable": Reason(
        "The file can't be read.",
        "Let the user that runs Airflow's tasks read it.",
    ),
    "bad_name": Reason(
        "The file's name is too long, or not all of it is text.",
        "Give it a shorter name, of plain letters and digits.",
    ),
}
"""What keeps a dropped file from being taken; the state of a drop that waits."""

MIRROR = {
    "unstable": Reason(
        "Rows came and went while the list was read: no two passes agree. What was read is "
        "loaded, nothing is marked as gone.",
        "Nothing to do: the next run reads again. If it stays so, run at a quieter time.",
    ),
    "many_gone": Reason(
        "More rows than usual are gone at once. What was read is loaded, none of them is marked.",
        "Compare with the service; if they are gone there, run with accept_gone.",
    ),
}
"""What keeps a mirror's run from being complete."""


ALARMS = {
    "late": Reason(
        "No complete load within the time promised: what is shown is older than it should be.",
        "Look at the DAG in Airflow: is it paused, is a run waiting or still at work?",
    ),
    "failed": Reason(
        "A task gave up, after all its tries: this run loaded nothing, or not all.",
        "Read the end of the task's log, mend what it names, then clear the task.",
    ),
    "suspect": Reason(
        "The service answered, and the answer can't be believed: it was kept back.",
        "Compare with the service; if it is right, run with accept_suspect (of lists: accept_gone), "
        "else run again.",
    ),
    "unstable": Reason(
        "Rows came and went while the list was read, each time: nobody was marked as gone.",
        "Run at a quieter time of the service.",
    ),
    "partial": Reason(
        "Not all was done: rows of a drop or questions of an audit are left.",
        "Read the drop's report or the task's log: it says what is left, and why.",
    ),
    "overdue": Reason(
        "A run was started and has not ended in its time.",
        "Look what its tasks wait for: a worker, a slot of their pool (is the pool there?), the service.",
    ),
    "no_slots": Reason(
        "Tasks wait and none runs: Airflow's pool of the service is missing, or too small for one.",
        "Run the command that the message names; it makes the pool.",
    ),
    "contract_changed": Reason(
        "The service does otherwise than it was seen to do where its interface says nothing.",
        "Read the finding in bms.contract, ask the service's owner whether it is meant.",
    ),
    "setting_contradicted": Reason(
        "A setting says otherwise than the service was seen to do.",
        "Change the setting as the message says, then run service_contract again.",
    ),
    "not_reconciled": Reason(
        "The service contradicts itself, or the warehouse holds what the service doesn't say.",
        "Look which days and why in bms.reconciliation; compare one of them by hand.",
    ),
    "warehouse_unreachable": Reason(
        "The warehouse does not answer: nobody can tell how fresh anything is.",
        "Check that PostgreSQL runs and that the address and password are right.",
    ),
}
"""What people are told of without asking; docs/runbook.md has a section for each."""


AUDIT = {
    "days_differ": Reason(
        "A month read at once is not the sum of its days.",
        "Load such days one by one (BMS_WINDOW_DAYS=1) and tell the service's owner.",
    ),
    "halves_differ": Reason(
        "A month read at once is not the sum of two halves that overlap.",
        "Lower BMS_WINDOW_DAYS and tell the service's owner.",
    ),
    "doubled": Reason(
        "The same row comes twice in one answer.",
        "Report it to the service's owner; rows are kept once here.",
    ),
    "outside_day": Reason(
        "A row of another day comes with the day asked for.",
        "Run service_contract: it says which date the range filters and whether end_date is in.",
    ),
    "languages_differ": Reason(
        "Asked in English, the service gives other rows or values than in French.",
        "Set BMS_LANGUAGE to the language that is right; tell the service's owner.",
    ),
    "page_sizes_differ": Reason(
        "A list holds other rows on small pages than on large ones.",
        "Set page_size of the connection to the one that is right; tell the service's owner.",
    ),
    "detail_differs": Reason(
        "A record's detail says otherwise than its list.",
        "Compare the record in the service; tell the service's owner.",
    ),
    "warehouse_differs": Reason(
        "The warehouse differs from the service, though it has read the rows again since.",
        "Run the flow again for these days; if it stays so, rebuild them: bms_flows.rebuild.",
    ),
    "budget_spent": Reason(
        "BMS_AUDIT_REQUESTS was spent before these rows were compared.",
        "Nothing to do: another audit begins elsewhere. Raise BMS_AUDIT_REQUESTS for more.",
    ),
    "not_answered": Reason(
        "The service refused or failed a question of the audit.",
        "Look at the task's log; the next audit asks again.",
    ),
}
"""Why a day is not reconciled, or was not compared."""
