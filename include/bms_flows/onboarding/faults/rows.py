"""Texts of the faults of rows found in planning and creation, and of the questions for a reviewer."""

from collections.abc import Mapping
from typing import Final

from bms_flows.onboarding.faults.files import FaultText

DECIDE = (
    "Décider dans Airflow : choisir une fiche proposée, créer ou abandonner.",
    "Decide in Airflow: choose a candidate, create, or give up.",
)
BY_HAND = (
    "Modifier la fiche dans le logiciel de gestion.",
    "Change the record in the service itself.",
)
DROP_AGAIN = ("Corriger et déposer à nouveau.", "Correct and drop again.")
LATER = ("Rien à faire ; sera repris.", "Nothing to do; a later run resumes the row.")

CREATION_FAULTS: Final[Mapping[str, FaultText]] = {
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
    # for review
    "other_data": FaultText(
        "Existe déjà avec d'autres données.", "The record exists with different data.", *BY_HAND
    ),
    "record_deleted": FaultText(
        "Sa fiche a été supprimée dans le logiciel de gestion.",
        "Its record was deleted in the service.",
        *BY_HAND,
    ),
    "not_readable": FaultText(
        "Existe dans la liste, mais sa fiche est illisible.",
        "The service lists the record but does not return its detail.",
        *BY_HAND,
    ),
    "created_not_found": FaultText(
        "Le logiciel de gestion a confirmé la création, mais n'a pas la fiche.",
        "The service confirmed the creation but does not have the record.",
        "La chercher dans le logiciel de gestion ; la créer à la main si elle n'y est pas.",
        "Search for it in the service; if it is absent, create it there by hand.",
    ),
    "refused_but_created": FaultText(
        "Le logiciel de gestion a refusé la création, mais contient la fiche.",
        "The service refused the creation but has the record.",
        *BY_HAND,
    ),
    "several_records": FaultText(
        "Le logiciel de gestion contient plusieurs fiches de cet identifiant (matricule, e-mail…).",
        "The service has more than one record with this key.",
        *BY_HAND,
    ),
    "same_person_other_key": FaultText(
        "Même nom et même date d'entrée, sous un autre matricule.",
        "A record with another key has the same name and start date.",
        *DECIDE,
    ),
    "same_number_other_form": FaultText(
        "Une fiche de l'entité porte ce matricule sous une autre forme.",
        "A record of the entity has this payroll number in another form.",
        *DECIDE,
    ),
    "same_name_and_number": FaultText(
        "Même nom et même matricule, dans une autre entité ou à une autre date d'entrée.",
        "A record has the same name and payroll number, in another entity or with another start date.",
        *DECIDE,
    ),
    "same_email_other_form": FaultText(
        "Une fiche porte cette adresse e-mail avec d'autres majuscules, ou parmi plusieurs adresses.",
        "A record has this e-mail address in another case, or in a list of addresses.",
        *DECIDE,
    ),
    "same_key_other_data": FaultText(
        "Une fiche saisie entre-temps porte cet identifiant, avec un autre nom ou une autre date.",
        "A record entered in the meantime has this key with another name or date.",
        *DECIDE,
    ),
    "same_email_other_name": FaultText(
        "Une fiche porte cette adresse e-mail sous un autre nom.",
        "A record has this e-mail address under another name.",
        *DECIDE,
    ),
    "same_phone_other_name": FaultText(
        "Une fiche porte ce mobile sous un autre nom.",
        "A record has this mobile phone under another name.",
        *DECIDE,
    ),
    "same_name_and_phone": FaultText(
        "Une fiche porte le même nom et le même mobile, écrits autrement ou dans une autre colonne.",
        "A record has the same name and mobile phone, in another form or another column.",
        *DECIDE,
    ),
    "same_name_and_company": FaultText(
        "Une fiche porte le même nom et la même société.",
        "A record has the same name and company.",
        *DECIDE,
    ),
    "same_name_and_birth_year": FaultText(
        "Une fiche porte le même nom et la même année de naissance.",
        "A record has the same name and year of birth.",
        *DECIDE,
    ),
    "like_another_row": FaultText(
        "Ressemble à une autre ligne du fichier (nom, adresse ou téléphone).",
        "Similar to another row of the file (name, address or phone).",
        *DECIDE,
    ),
    "candidate_deleted": FaultText(
        "La fiche a été supprimée dans le logiciel de gestion.",
        "The matching record was deleted in the service.",
        *DECIDE,
    ),
    "key_with_other_data": FaultText(
        "Envoyée sans réponse ; une fiche de cet identifiant porte d'autres données.",
        "The creation got no response; a record with this key has different data.",
        *DECIDE,
    ),
    "similar_without_key": FaultText(
        "Envoyée sans réponse ; une fiche ressemblante n'affiche pas son identifiant.",
        "The creation got no response; a similar record does not show its key.",
        *DECIDE,
    ),
    "id_not_readable": FaultText(
        "Le logiciel de gestion a confirmé la création par un numéro, mais n'affiche pas la fiche.",
        "The service confirmed the creation with an id but does not return the record.",
        *DECIDE,
    ),
    "created_not_listed": FaultText(
        "Envoyée sans réponse ; le logiciel de gestion ne montre pas non plus les fiches créées au même moment.",
        "The creation got no response; the service's lists also lack other records created then.",
        *DECIDE,
    ),
    "found_for_another_row": FaultText(
        "Envoyée sans réponse ; la fiche trouvée appartient à une autre ligne.",
        "The creation got no response; the record found belongs to another row.",
        *DECIDE,
    ),
    "attempts_used": FaultText(
        "Envoyée plusieurs fois sans réponse ni trace.",
        "Several attempts to create got no response; no record was found.",
        *DECIDE,
    ),
    "given_up_before": FaultText(
        "Déjà abandonnée sur décision, avec les mêmes données.",
        "A reviewer gave up the same data before.",
        *DECIDE,
    ),
    "duplicate_found": FaultText(
        "Le logiciel de gestion contient un doublon, apparu après coup.",
        "The service has a duplicate, found after the creation.",
        *BY_HAND,
    ),
    # not finished
    "in_flight_other_data": FaultText(
        "Une création pour cet identifiant, avec d'autres données, est en cours ou terminée.",
        "A creation with this key and other data is in progress or done.",
        *BY_HAND,
    ),
    "in_flight": FaultText("Création en cours.", "The creation is in progress.", *LATER),
    "waits_for_manager": FaultText(
        "Attend la décision sur son responsable.",
        "Waiting for the decision on the manager.",
        *LATER,
    ),
}
"""By fault code. No text quotes a cell: cells are personal data."""
