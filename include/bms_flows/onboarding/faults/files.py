"""Texts of the faults found in reading a dropped file, and of the reasons for which a file waits or is withdrawn."""

from dataclasses import dataclass

from bms_flows.runtime.reasons import Reason


@dataclass(frozen=True)
class FaultText:
    """What a fault means and what the HR user does about it, in French and English."""

    french: str
    english: str
    hint_french: str
    hint_english: str


FRENCH_DETAILS = {
    "rows": "lignes",
    "columns": "colonnes",
    "cells": "cellules",
    "texts": "textes",
    "styles": "styles",
    "bytes": "octets",
    "tag": "balise",
    "tags": "balises",
    "cells out of order": "cellules dans le désordre",
    "damaged content": "contenu endommagé",
    "duplicate names": "noms en double",
    "duplicate sheets": "feuilles en double",
    "missing part": "une partie manque",
    "password": "mot de passe",
    "rows out of order": "lignes dans le désordre",
    "unknown text": "texte inconnu",
}
"""What a file has too much of, and why a workbook can't be read, by the English words."""

READING_FAULTS = {
    # the file
    "bad_kind": FaultText(
        "Ce type de fichier n'est pas lu.",
        "This kind of file is not supported.",
        "Enregistrer en .csv ou .xlsx, sans mot de passe.",
        "Save it as .csv or .xlsx, without a password.",
    ),
    "too_big": FaultText(
        "Le fichier dépasse la limite de {limit} {what}.",
        "The file exceeds the limit of {limit} {what}.",
        "Déposer plusieurs fichiers plus petits.",
        "Drop several smaller files.",
    ),
    "empty_file": FaultText(
        "Le fichier ne contient aucune ligne.",
        "The file has no row.",
        "Partir du modèle de la boîte de dépôt.",
        "Start from the inbox's template.",
    ),
    "bad_encoding": FaultText(
        "Les caractères du fichier ne sont ni UTF-8, ni UTF-16, ni Windows-1252.",
        "The file's characters are neither UTF-8, UTF-16 nor Windows-1252.",
        "Enregistrer en « CSV UTF-8 » ou en .xlsx.",
        'Save it as "CSV UTF-8" or as .xlsx.',
    ),
    "bad_quoting": FaultText(
        'Un guillemet (") est mal placé ou jamais refermé ; la suite est illisible.',
        'A quote (") is misplaced or never closed; the rest of the file is unreadable.',
        "Corriger la cellule, ou enregistrer depuis Excel.",
        "Correct the cell, or save from Excel.",
    ),
    "bad_workbook": FaultText(
        "Le classeur est illisible : {why}.",
        "The workbook can't be read: {why}.",
        "L'ouvrir et l'enregistrer à nouveau en .xlsx.",
        "Open it and save it again as .xlsx.",
    ),
    "several_sheets": FaultText(
        "Plusieurs feuilles du classeur ont ces en-têtes.",
        "More than one sheet of the workbook has these headers.",
        "Une feuille par fichier : déposer les autres à part, ou les supprimer.",
        "One sheet per file: drop the others separately, or delete them.",
    ),
    "hidden_sheet": FaultText(
        "Les lignes sont sur une feuille masquée ; les feuilles masquées ne sont pas lues.",
        "The rows are on a hidden sheet; hidden sheets are not read.",
        "Afficher la feuille.",
        "Unhide the sheet.",
    ),
    "hidden_column": FaultText(
        "La colonne est remplie, mais masquée dans Excel.",
        "The column is filled, but hidden in Excel.",
        "L'afficher pour envoyer ses valeurs, ou la supprimer.",
        "Unhide the column to send its values, or delete it.",
    ),
    "merged_cells": FaultText(
        "La feuille contient des cellules fusionnées, par exemple {cells}.",
        "The sheet has merged cells, for example {cells}.",
        "Défusionner et remplir chaque cellule.",
        "Unmerge and fill in each cell.",
    ),
    "no_header": FaultText(
        "Aucun en-tête connu sur la première ligne remplie.",
        "The first filled line has no known header.",
        "Dans votre propre fichier, effacer ce qui précède les en-têtes, par exemple un titre, et reprendre ceux du modèle ; une donnée par colonne. Séparateur d'un CSV : ; ou , ou tabulation.",
        "In your own file, delete what is above the headers, such as a title, and use the template's headers; one value per column. Delimiter of a CSV: ; or , or tab.",
    ),
    "unknown_column": FaultText(
        "En-tête inconnu.",
        "Unknown header.",
        "Le corriger ou supprimer la colonne ; voir _LISEZMOI.txt.",
        "Correct the header or delete the column.",
    ),
    "unnamed_column": FaultText(
        "Une colonne remplie n'a pas d'en-tête : la colonne {place}.",
        "A filled column has no header: column {place}.",
        "Lui donner un en-tête ou la supprimer.",
        "Add a header or delete the column.",
    ),
    "duplicate_header": FaultText(
        "Deux colonnes désignent le même champ.",
        "Two columns are for the same field.",
        "N'en garder qu'une.",
        "Delete all but one.",
    ),
    # the row
    "cell_count": FaultText(
        "La ligne a {found} cellules, l'en-tête {expected}.",
        "The row has {found} cells, the header {expected}.",
        "Compléter la ligne, ou enlever les séparateurs en trop ; mettre entre guillemets une cellule qui contient le séparateur.",
        "Complete the row, or remove superfluous delimiters; put a cell that contains the delimiter in quotes.",
    ),
    "hidden_row": FaultText(
        "La ligne est masquée dans Excel (filtre, plan ou masquage) : elle n'est pas créée.",
        "The row is hidden in Excel (by a filter, an outline or by hand): no record is created.",
        "L'afficher pour la créer, ou la supprimer.",
        "Unhide the row to create its record, or delete it.",
    ),
    "hidden_rows": FaultText(
        "Lignes masquées dans ce fichier : {count}.",
        "Hidden rows in this file: {count}.",
        "Tout sélectionner (Ctrl+A), clic droit sur un numéro de ligne, Afficher ; puis corriger ou supprimer ces lignes.",
        "Select all (Ctrl+A), right-click a row number, Unhide; then correct or delete these rows.",
    ),
    "struck_row": FaultText(
        "La ligne contient un texte barré dans Excel : elle n'est pas créée.",
        "The row has text that is struck through in Excel: no record is created.",
        "Supprimer la ligne ; pour la créer, effacer ce qui est barré ou enlever le barré.",
        "Delete the row; to create its record, delete the struck text or remove the strikethrough.",
    ),
    "example_row": FaultText(
        "C'est la ligne d'exemple du modèle.",
        "This is the template's example row.",
        "La supprimer.",
        "Delete the row.",
    ),
    "swallowed_rows": FaultText(
        "Une cellule contient d'autres lignes du fichier.",
        "A cell contains other rows of the file.",
        'Chercher un guillemet (") en trop.',
        'Find the superfluous quote (").',
    ),
    # the cell
    "mojibake": FaultText(
        "Caractères altérés par un mauvais encodage.",
        "The characters are damaged by a wrong encoding.",
        "Corriger les accents, enregistrer en « CSV UTF-8 » ou en .xlsx.",
        "Correct the accents, save as UTF-8.",
    ),
    "control_character": FaultText(
        "Caractère invisible interdit.",
        "The cell contains an invisible character that is not allowed.",
        "Ressaisir la cellule.",
        "Type the cell again.",
    ),
    "cell_too_long": FaultText(
        "Plus de {limit} caractères.",
        "More than {limit} characters.",
        "Raccourcir.",
        "Shorten it.",
    ),
    "missing_cell": FaultText(
        "La cellule manquait dans le fichier d'origine.",
        "The original file had no cell here.",
        "La remplir ou la vider.",
        "Fill in the cell or clear it.",
    ),
    "excel_error": FaultText(
        "Excel affiche une erreur dans cette cellule.",
        "Excel shows an error in this cell.",
        "Corriger la formule, ou la remplacer par la valeur voulue.",
        "Correct the formula, or replace it with the intended value.",
    ),
    "empty_marker": FaultText(
        "La cellule contient ce qu'un programme écrit pour une cellule vide (NULL, NaN).",
        "The cell has the word that programs write for an empty cell (NULL, NaN).",
        "Vider la cellule.",
        "Clear the cell.",
    ),
    "ditto": FaultText(
        "La cellule renvoie à celle du dessus (idem).",
        "The cell refers to the row above (ditto).",
        "Y écrire la valeur.",
        "Write the value itself.",
    ),
    "formula_as_text": FaultText(
        "La cellule commence par =, comme une formule.",
        "The cell starts with =, as a formula does.",
        "Écrire la valeur elle-même, sans le signe =.",
        "Write the value itself, without the = sign.",
    ),
    "formula_without_value": FaultText(
        "La formule n'a pas de valeur enregistrée.",
        "The file has no stored value for the formula.",
        "Ouvrir le fichier dans Excel et l'enregistrer, ou remplacer la formule par sa valeur.",
        "Open the file in Excel and save it, or replace the formula with its value.",
    ),
    "unread_format": FaultText(
        "Le format de la cellule {cell} n'est pas lu : {format}.",
        "The number format of cell {cell} is not supported: {format}.",
        "La mettre au format Standard ou Texte et vérifier ce qu'elle affiche.",
        "Format the cell as General or Text, and check its value.",
    ),
    "rounded_by_format": FaultText(
        "La cellule {cell} affiche un nombre arrondi par son format : {format}.",
        "The number format of cell {cell} rounds its value: {format}.",
        "Saisir la valeur voulue, ou l'arrondir (ARRONDI).",
        "Type the intended value, or use ROUND.",
    ),
    "scientific_notation": FaultText(
        "Excel a remplacé le texte par un nombre arrondi (1,23E+14).",
        "Excel replaced the text with a rounded number (1.23E+14).",
        "Mettre la colonne au format Texte et ressaisir.",
        "Format the column as Text and type the value again.",
    ),
    "changed_by_excel": FaultText(
        "Excel a changé cette valeur : les zéros ou le signe + que le fichier rejeté avait ici manquent.",
        "Excel changed this value: zeros or the + sign of the rejected file are missing.",
        "Reprendre la valeur de la colonne _original ; si le changement est voulu, vider cette colonne.",
        "Copy the value from the column _original; if the change is intended, clear that column.",
    ),
    "not_text": FaultText(
        "Excel a enregistré un nombre ou une date à la place du texte.",
        "Excel stored a number or a date instead of the text.",
        "Mettre la cellule au format Texte et ressaisir.",
        "Format the cell as Text and type the value again.",
    ),
    "bad_integer": FaultText(
        "Ce n'est pas un nombre entier.",
        "Not a whole number.",
        "Écrire un nombre seul, sans virgule ni lettre, par exemple 1 ou 80.",
        "Write a number only, without decimals or letters, for example 1 or 80.",
    ),
    "bad_decimal": FaultText(
        "Ce n'est pas un nombre.",
        "Not a number.",
        "Écrire le nombre seul, par exemple 2850,50, sans € ni texte.",
        "Write the number only, for example 2850.50, without currency or text.",
    ),
    "ambiguous_number": FaultText(
        "Nombre ambigu : décimales ou milliers ?",
        "Ambiguous number: decimals or thousands?",
        "Écrire 1234 ou 1,2340 sans séparateur de milliers.",
        "Write 1234, or 1.2340.",
    ),
    "not_the_declared_decimal": FaultText(
        "Ce nombre n'a pas le format prévu pour cette boîte : {declared}.",
        "The number is not in the format of this inbox: {declared}.",
        "Écrire {declared}.",
        "Write {declared}.",
    ),
    "bad_boolean": FaultText(
        "Ni oui ni non.",
        "Neither yes nor no.",
        "Écrire oui, o, vrai, 1 ou x, ou non, n, faux ou 0 ; vide : inconnu.",
        "Write yes, y, true, 1 or x, or no, n, false or 0; blank: unknown.",
    ),
    "bad_date": FaultText(
        "Ce n'est pas une date.",
        "Not a date.",
        "Écrire 2026-12-31 ou 31/12/2026.",
        "Write 2026-12-31.",
    ),
    "contradicting_dates": FaultText(
        "Dates ambiguës dans cette colonne (jour/mois ou mois/jour) : voir {cells}.",
        "The order of day and month is ambiguous in this column: see {cells}.",
        "Vérifier toutes ses dates, y compris celles qu'Excel a converties, et les écrire en {declared} ou 2026-12-31.",
        "Check all dates of the column, including those that Excel converted; write {declared}.",
    ),
    "not_the_declared_date": FaultText(
        "Cette date n'a pas le format prévu pour cette boîte : {declared}.",
        "The date is not in the format of this inbox: {declared}.",
        "Écrire {declared}.",
        "Write {declared}.",
    ),
    "two_digit_year": FaultText(
        "L'année n'a que deux chiffres.",
        "The year has only two digits.",
        "Écrire l'année en entier.",
        "Write the year with four digits.",
    ),
    "bad_integers": FaultText(
        "Ce n'est pas une liste de nombres entiers.",
        "Not a list of whole numbers.",
        "Écrire par exemple 3|7.",
        "Write, for example, 3|7.",
    ),
}
"""By fault code. No text quotes a cell: cells are personal data."""


WAITING = {
    "growing": Reason(
        "The file changed between two scans of the inbox.",
        "Wait until the copy ends. If nothing is being copied, find the program that writes to the file.",
    ),
    "being_written": Reason(
        "A program on this server has the file open for writing.",
        "Close the file in that program, or wait for the copy to end.",
    ),
    "open_in_editor": Reason(
        "The file is open in Excel or LibreOffice: their lock file is beside it.",
        "Close the file. After BMS_DROP_STABLE_MINUTES (10) without a change it is processed as it"
        " is, because a crash leaves the lock file behind.",
    ),
    "empty": Reason(
        "The file is empty. The copy may not have started.",
        "Drop the file again with its content. After BMS_DROP_STABLE_MINUTES (10) without a change"
        " the empty file is refused.",
    ),
    "incomplete": Reason(
        "The end of the file is missing: no line break after the last line, a quote that is never"
        " closed, or a workbook copied in part. The copy may still be running.",
        "If the file is complete, wait: after BMS_DROP_STABLE_MINUTES (10) without a change the file"
        " is processed, and its plan needs approval. To start sooner, add a line break, or trigger"
        " the DAG with the drop's number. If the file is not complete, drop it again.",
    ),
    "unreadable": Reason(
        "The file can't be read.",
        "Give the user that runs Airflow's tasks read permission.",
    ),
    "bad_name": Reason(
        "The file name is too long, or contains unreadable characters.",
        "Rename the file: a short name of letters and digits.",
    ),
}
"""Why a dropped file is not processed yet, by the code in `waits_for`."""

WITHDRAWN = {
    "removed": Reason(
        "The file was removed from the inbox before it was read.",
        "None if the removal was intended; otherwise drop the file again.",
    ),
    "changed": Reason(
        "The file changed after the inbox scan; the changed file is a separate drop.",
        "Check the later drop of the same file.",
    ),
    "archive_expired": Reason(
        "The original is no longer in the archive: BMS_KEEP_ARCHIVE_DAYS have passed, or the file"
        " was deleted.",
        "Drop the file again.",
    ),
}
"""Why a drop was withdrawn before its file was read, by code."""
