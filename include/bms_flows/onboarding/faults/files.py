"""Texts of the faults of a file and of the shape of its rows, found in reading a dropped file."""

from bms_flows.onboarding.faults.text import FaultText

FRENCH_DETAILS = {
    "rows": "lignes",
    "columns": "colonnes",
    "cells": "cellules",
    "texts": "textes",
    "styles": "styles",
    "bytes": "octets",
    "tag": "balise",
    "tags": "balises",
    "characters": "caractères dans les cellules",
    "characters in a header": "caractères dans un en-tête",
    "faults": "erreurs",
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

FILE_FAULTS = {
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
    "hidden_by_rule": FaultText(
        "Une mise en forme conditionnelle barre ou masque des cellules : {cells}.",
        "A conditional format strikes through or hides cells: {cells}.",
        "Supprimer cette mise en forme, puis les lignes qui ne sont plus valables.",
        "Remove the format, then the rows that are no longer valid.",
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
}
"""By fault code. No text quotes a cell: cells are personal data."""
