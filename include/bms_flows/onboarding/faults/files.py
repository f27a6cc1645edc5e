"""Why a dropped file, a row or a cell is refused, and why a file waits; docs/runbook.md has a section for each."""

from dataclasses import dataclass

from bms_flows.runtime.reasons import Reason


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
    "hidden_sheet": Answer(
        "Les lignes sont sur une feuille masquée ; les feuilles masquées ne sont pas lues.",
        "The rows are on a hidden sheet; hidden sheets are not read.",
        "Afficher la feuille. / Unhide the sheet.",
    ),
    "hidden_column": Answer(
        "La colonne est remplie, mais masquée dans Excel.",
        "The column is filled, but hidden in Excel.",
        "L'afficher pour envoyer ses valeurs, ou la supprimer. / Unhide it to send it, or remove it.",
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
    "hidden_row": Answer(
        "La ligne est masquée dans Excel (filtre, plan ou masquage) : elle n'est pas créée.",
        "The row is hidden in Excel (filter, outline or hidden by hand): it is not created.",
        "L'afficher pour la créer, ou la supprimer. / Unhide it to create it, or remove it.",
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
    "unread_format": Answer(
        "Le format de la cellule {cell} n'est pas lu : {format}.",
        "The number format of cell {cell} is not read: {format}.",
        "La mettre au format Standard ou Texte et vérifier ce qu'elle affiche."
        " / Give it the format General or Text, and check what it shows.",
    ),
    "rounded_by_format": Answer(
        "La cellule {cell} affiche un nombre arrondi par son format : {format}.",
        "Cell {cell} shows a number that its format rounds: {format}.",
        "Saisir la valeur voulue, ou l'arrondir (ARRONDI). / Type the value meant, or use ROUND.",
    ),
    "scientific_notation": Answer(
        "Excel a remplacé le texte par un nombre arrondi (1,23E+14).",
        "Excel has put a rounded number (1.23E+14) in place of the text.",
        "Mettre la colonne au format Texte et ressaisir. / Format the column as text, type it anew.",
    ),
    "changed_by_excel": Answer(
        "Excel a changé cette valeur : les zéros ou le signe + que le fichier rejeté avait ici manquent.",
        "Excel has changed this value: zeros or the + that the rejected file had here are missing.",
        "Reprendre la valeur de la colonne _original ; si le changement est voulu, vider cette colonne."
        " / Take the value from column _original; if the change is meant, clear that column.",
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
    "contradicting_dates": Answer(
        "L'ordre du jour et du mois n'est pas sûr dans cette colonne : voir {cells}.",
        "The order of day and month is not certain in this column: see {cells}.",
        "Vérifier toutes ses dates, y compris celles qu'Excel a converties, et les écrire en {declared}"
        " ou 2026-12-31. / Check all its dates, those that Excel converted too; write {declared}.",
    ),
    "not_the_declared_date": Answer(
        "Cette date n'est pas au format que cette boîte déclare : {declared}.",
        "The date is not in the format that this inbox declares: {declared}.",
        "Écrire {declared}. / Write {declared}.",
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
        "The end of the file is missing: no line break after its last line, a quote that is never"
        " closed, or a workbook copied in part. The rest may still be on its way.",
        "Nothing if the file is whole: unchanged for BMS_DROP_STABLE_MINUTES (10) it is taken as it"
        " is, and its plan needs approval. Sooner: add a line break, or trigger its DAG with the"
        " drop's number. If it isn't whole, drop it again.",
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

WITHDRAWN = {
    "gone": Reason(
        "The file was taken out of the inbox before it was read.",
        "Nothing; drop it again if it was meant.",
    ),
    "changed": Reason(
        "The file was written to after it was seen; as it is now, it is another drop.",
        "Look at the later drop of the same file.",
    ),
    "not_kept": Reason(
        "The original is no longer in the archive: BMS_KEEP_ARCHIVE_DAYS have passed, or it was"
        " deleted.",
        "Drop the file again.",
    ),
}
"""Why a drop was withdrawn: its file was not there to be read."""
