"""Texts of rows that are not settled: a reviewer decides, or a later run resumes them."""

from collections.abc import Mapping
from typing import Final

from bms_flows.onboarding.faults.text import FaultText

DECIDE = (
    "Décider dans Airflow : choisir une fiche proposée, créer ou abandonner.",
    "Decide in Airflow: choose a candidate, create, or give up.",
)
BY_HAND = (
    "Modifier la fiche dans le logiciel de gestion.",
    "Change the record in the service itself.",
)
SEND_AGAIN = (
    "Chercher la fiche ; si elle est absente, créer : la ligne sera envoyée à nouveau.",
    "Search for the record in the service; if it is absent, decide create: the row is sent again.",
)
LATER = ("Rien à faire ; sera repris.", "Nothing to do; a later run resumes the row.")

UNSETTLED_FAULTS: Final[Mapping[str, FaultText]] = {
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
    "same_name_and_email": FaultText(
        "Même nom et même e-mail professionnel, sous un autre matricule.",
        "A record with another key has the same name and e-mail address at work.",
        *DECIDE,
    ),
    "same_social_security_number": FaultText(
        "Même numéro de sécurité sociale, sous un autre matricule.",
        "A record with another key has the same social security number.",
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
    "returned_other_data": FaultText(
        "Le logiciel de gestion a confirmé la création par le numéro d'une fiche aux données différentes.",
        "The service confirmed the creation with the id of a record with different data.",
        *DECIDE,
    ),
    "absence_not_proven": FaultText(
        "Envoyée sans réponse ; aucune fiche plus récente ne montre que les listes sont à jour.",
        "The creation got no response; no newer record shows that the service's lists are up to date.",
        *SEND_AGAIN,
    ),
    "lists_incomplete": FaultText(
        "Les listes du logiciel de gestion omettent des fiches qu'il contient ; une fiche peut donc exister.",
        "The service's lists lack records that the service has, so a record may exist.",
        *SEND_AGAIN,
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
