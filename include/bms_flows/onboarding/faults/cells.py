"""Texts of the faults of cells, found in reading a dropped file."""

from bms_flows.onboarding.faults.text import FaultText

CELL_FAULTS = {
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
    "partial_date": FaultText(
        "La cellule {cell} n'affiche pas toute la date : {format}.",
        "Cell {cell} does not show the whole date: {format}.",
        "Afficher jour, mois et année (format Date courte), puis vérifier la date.",
        "Show day, month and year (format Short Date), then check the date.",
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
