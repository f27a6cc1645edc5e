"""Texts of rows that are rejected, in planning or by the service."""

from collections.abc import Mapping
from typing import Final

from bms_flows.onboarding.faults.text import FaultText

DROP_AGAIN = ("Corriger et déposer à nouveau.", "Correct and drop again.")

REJECTED_FAULTS: Final[Mapping[str, FaultText]] = {
    # the row, before anything is sent
    "missing_value": FaultText(
        "Valeur obligatoire absente.", "A required value is missing.", *DROP_AGAIN
    ),
    "unknown_code": FaultText(
        "Code inconnu ; codes admis : {allowed}.", "Unknown code; allowed: {allowed}.", *DROP_AGAIN
    ),
    "out_of_range": FaultText(
        "Hors limites : de {least} à {most}.", "Out of range: {least} to {most}.", *DROP_AGAIN
    ),
    "too_young": FaultText(
        "Moins de {years} ans à la date d'entrée.",
        "Younger than {years} years on the start date.",
        *DROP_AGAIN,
    ),
    "too_long": FaultText(
        "Plus de {most} caractères.", "More than {most} characters.", *DROP_AGAIN
    ),
    "no_key": FaultText(
        "Rien n'identifie la personne ; remplir une de ces colonnes : {fields}.",
        "The row has no key: {fields}.",
        *DROP_AGAIN,
    ),
    "unknown_scope": FaultText(
        "Le logiciel de gestion ne connaît pas cette entité.",
        "The service doesn't know this entity.",
        *DROP_AGAIN,
    ),
    "bad_email": FaultText(
        "Ce n'est pas une adresse e-mail.",
        "Not an e-mail address.",
        "La corriger ou vider la cellule.",
        "Correct the address or clear the cell.",
    ),
    "not_a_name": FaultText(
        "La cellule contient plus qu'un nom : civilité, parenthèse ou adresse e-mail.",
        "The cell holds more than a name: a title, brackets or an e-mail address.",
        "N'y laisser que le nom ; le reste a ses propres colonnes, par exemple Civilité.",
        "Leave only the name; titles and addresses have their own columns.",
    ),
    "not_letters": FaultText(
        "Un nom a des lettres, des espaces, des tirets et des apostrophes, pas d'autres signes.",
        "A name has letters, spaces, hyphens and apostrophes, and no other signs.",
        "N'y laisser que le nom d'une seule personne.",
        "Leave the name of one person only.",
    ),
    "mixed_alphabets": FaultText(
        "Un mot mêle deux alphabets, par exemple une lettre cyrillique et des lettres latines.",
        "A word mixes two alphabets, such as a Cyrillic letter and Latin letters.",
        "Retaper la valeur.",
        "Type the value again.",
    ),
    "no_digit": FaultText(
        "La cellule ne contient aucun chiffre.",
        "The cell has no digit.",
        "La corriger ou vider la cellule.",
        "Correct or clear the cell.",
    ),
    "placeholder": FaultText(
        "Ce n'est pas un numéro : la cellule doit contenir un chiffre autre que 0.",
        "This is no number: the cell needs a digit other than 0.",
        "Attendre le numéro, puis déposer la ligne.",
        "Wait for the number, then drop the row.",
    ),
    "leading_apostrophe": FaultText(
        "La valeur commence par une apostrophe.",
        "The value starts with an apostrophe.",
        "Effacer l'apostrophe : elle ferait partie du numéro.",
        "Delete the apostrophe: it would become a part of the number.",
    ),
    "dates_reversed": FaultText(
        "Cette date devrait précéder « {other} ».",
        "This date should be before {other}.",
        "Vérifier les deux dates.",
        "Check both dates.",
    ),
    "line_break": FaultText(
        "La cellule contient un saut de ligne.",
        "The cell contains a line break.",
        "N'y laisser qu'une valeur, sans saut de ligne (Alt+Entrée) ; une ligne du fichier par personne.",
        "Leave one value without a line break (Alt+Enter), and use one row per person.",
    ),
    "lost_prefix": FaultText(
        "Le premier 0, ou le +, manque : Excel l'a sans doute retiré.",
        "The first 0, or the +, is missing: Excel has probably removed it.",
        "Mettre la cellule au format Texte et ressaisir ; hors de France, remplir le pays, par exemple BE.",
        "Format the cell as Text and type the value again; outside France, fill in the country, such as BE.",
    ),
    "twice_in_file": FaultText(
        "Même ligne que la ligne {other_line}.",
        "The row repeats line {other_line}.",
        "Supprimer l'une des deux.",
        "Delete one of the two rows.",
    ),
    "key_twice_in_file": FaultText(
        "Même identifiant (matricule, e-mail…) que la ligne {other_line}, autres données.",
        "Same key as line {other_line}, different data.",
        "Garder la bonne ligne.",
        "Keep the correct row.",
    ),
    "record_twice_in_file": FaultText(
        "Même fiche du logiciel de gestion que la ligne {other_line}.",
        "The row matches the same record of the service as line {other_line}.",
        "Garder la bonne ligne.",
        "Keep the correct row.",
    ),
    "manager_twice": FaultText(
        "Le responsable est désigné deux fois (aussi par {other}).",
        "The manager is given twice (also in {other}).",
        "Ne garder qu'une désignation.",
        "Keep one of the two.",
    ),
    "manager_unknown": FaultText(
        "Responsable introuvable dans le logiciel de gestion et dans le fichier.",
        "The manager is neither in the service nor in the file.",
        *DROP_AGAIN,
    ),
    "manager_ambiguous": FaultText(
        "Plusieurs personnes correspondent au responsable désigné.",
        "The given manager matches more than one person.",
        "Remplir la colonne Id responsable [id_manager].",
        "Fill in the column id_manager.",
    ),
    "manager_elsewhere": FaultText(
        "Ce matricule n'existe que dans une autre entité.",
        "Only another entity has this payroll number.",
        "Remplir la colonne Id responsable [id_manager].",
        "Fill in the column id_manager.",
    ),
    "manager_left": FaultText(
        "Le responsable désigné a quitté l'entreprise avant la date d'entrée.",
        "The given manager leaves the company before the start date.",
        "Indiquer un autre responsable, ou remplir la colonne Id responsable [id_manager].",
        "Name another manager, or fill in the column id_manager.",
    ),
    "manager_without_number": FaultText(
        "Le logiciel de gestion ne donne pas le numéro (id_employee) du responsable.",
        "The service doesn't give the manager's number (id_employee).",
        "Remplir la colonne Id responsable [id_manager].",
        "Fill in the column id_manager.",
    ),
    "manager_cycle": FaultText(
        "Les liens entre responsables forment une boucle.",
        "The managers form a cycle.",
        *DROP_AGAIN,
    ),
    "manager_cycle_unfinished": FaultText(
        "Avec une ligne inachevée d'un dépôt précédent, les liens entre responsables forment une boucle.",
        "Together with an unfinished row of an earlier drop, the managers form a cycle.",
        "Achever d'abord cette ligne (décision en attente), puis déposer à nouveau.",
        "Finish the earlier row first (decide on it), then drop again.",
    ),
    "manager_rejected": FaultText(
        "La ligne du responsable est rejetée.",
        "The manager's row is rejected.",
        "Corriger d'abord le responsable.",
        "Correct the manager first.",
    ),
    # the response of the service
    "refused": FaultText(
        "Le logiciel de gestion a refusé la création (code {status}).",
        "The service refused the creation (status {status}).",
        *DROP_AGAIN,
    ),
    "manager_not_created": FaultText(
        "Le responsable n'a pas été créé.",
        "The manager was not created.",
        "Corriger d'abord le responsable.",
        "Correct the manager first.",
    ),
    "given_up": FaultText(
        "Abandonnée sur décision.",
        "A reviewer gave up the row.",
        "Rien à faire ; si la ligne est déposée à nouveau, une nouvelle décision sera demandée.",
        "Nothing to do. If the row is dropped again, a reviewer decides again.",
    ),
    "not_approved": FaultText(
        "Le plan n'a pas été approuvé ; rien n'a été envoyé.",
        "The plan was not approved; nothing was sent.",
        "Si le rejet est voulu, rien à faire ; sinon, faire approuver le plan dans Airflow.",
        "Nothing to do if the rejection was intended; otherwise approve the plan in Airflow.",
    ),
}
"""By fault code. No text quotes a cell: cells are personal data."""
