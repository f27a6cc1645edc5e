"""What is wrong with a row as a whole, or what a person must decide: texts for those who dropped it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bms_flows.onboarding.faults.files import Answer
from bms_flows.onboarding.reading.sheet import Fault

DECIDE = "Choisir dans Airflow : candidat, créer ou abandonner. / Decide in Airflow: candidate, create or give up."
BY_HAND = (
    "Modifier la fiche dans le logiciel de gestion. / Change the record in the service itself."
)
DROP_AGAIN = "Corriger et déposer à nouveau. / Correct and drop again."
LATER = "Rien à faire ; sera repris. / Nothing to do; it goes on by itself."

CREATION_FAULTS: Final[Mapping[str, Answer]] = {
    # the row, before anything is sent
    "missing_value": Answer(
        "Valeur obligatoire absente.", "A required value is missing.", DROP_AGAIN
    ),
    "unknown_code": Answer(
        "Code inconnu ; permis : {allowed}.", "Unknown code; allowed: {allowed}.", DROP_AGAIN
    ),
    "out_of_range": Answer(
        "Hors limites : de {least} à {most}.", "Out of range: {least} to {most}.", DROP_AGAIN
    ),
    "too_long": Answer("Plus de {most} caractères.", "More than {most} characters.", DROP_AGAIN),
    "no_key": Answer(
        "Rien n'identifie la ligne : {fields}.", "Nothing identifies the row: {fields}.", DROP_AGAIN
    ),
    "unknown_scope": Answer(
        "Le service ne connaît pas cette entité.",
        "The service doesn't know this entity.",
        DROP_AGAIN,
    ),
    "bad_email": Answer(
        "Ce n'est pas une adresse e-mail.",
        "Not an e-mail address.",
        "La corriger ou vider la cellule. / Correct it or clear the cell.",
    ),
    "twice_in_file": Answer(
        "Même ligne que la ligne {other_line}.",
        "Same as line {other_line}.",
        "Supprimer l'une des deux. / Remove one of them.",
    ),
    "key_twice_in_file": Answer(
        "Même identité que la ligne {other_line}, autres données.",
        "Same identity as line {other_line}, other data.",
        "Garder la bonne ligne. / Keep the right one.",
    ),
    "record_twice_in_file": Answer(
        "Même fiche du service que la ligne {other_line}.",
        "The same record of the service as line {other_line}.",
        "Garder la bonne ligne. / Keep the right one.",
    ),
    "manager_twice": Answer(
        "Le responsable est désigné deux fois (aussi par {other}).",
        "The manager is named twice (also by {other}).",
        "Ne garder qu'une désignation. / Keep one of them.",
    ),
    "manager_unknown": Answer(
        "Responsable introuvable dans le service et dans le fichier.",
        "No such manager in the service or in the file.",
        DROP_AGAIN,
    ),
    "manager_ambiguous": Answer(
        "Plusieurs personnes correspondent au responsable désigné.",
        "More than one person matches the manager named.",
        "Donner id_manager. / Give id_manager.",
    ),
    "manager_without_number": Answer(
        "Le service ne donne pas le numéro (id_employee) du responsable.",
        "The service doesn't give the manager's number (id_employee).",
        "Donner id_manager. / Give id_manager.",
    ),
    "manager_cycle": Answer(
        "Les responsables forment un cercle.", "The managers form a circle.", DROP_AGAIN
    ),
    "manager_rejected": Answer(
        "La ligne du responsable est rejetée.",
        "The manager's row is rejected.",
        "Corriger d'abord le responsable. / Correct the manager first.",
    ),
    # the service's answer
    "refused": Answer(
        "Le service a refusé la création (statut {status}).",
        "The service refused the creation (status {status}).",
        DROP_AGAIN,
    ),
    "manager_not_created": Answer(
        "Le responsable n'a pas été créé.",
        "The manager was not created.",
        "Corriger d'abord le responsable. / Correct the manager first.",
    ),
    "given_up": Answer(
        "Abandonnée par décision d'une personne.",
        "Given up by a person's decision.",
        "Rien à faire ; déposée à nouveau, une personne décidera à nouveau."
        " / Nothing to do; dropped again, a person decides again.",
    ),
    "not_approved": Answer(
        "Le plan n'a pas été approuvé ; rien n'a été envoyé.",
        "The plan was not approved; nothing was sent.",
        "Approuver dans Airflow. / Approve it in Airflow.",
    ),
    # a person decides
    "other_data": Answer(
        "Existe déjà avec d'autres données.", "There already, with other data.", BY_HAND
    ),
    "gone_there": Answer(
        "Sa fiche a été supprimée dans le service.",
        "Its record was deleted in the service.",
        BY_HAND,
    ),
    "not_readable": Answer(
        "Existe dans la liste, mais sa fiche est illisible.",
        "Listed by the service, but its record can't be read.",
        BY_HAND,
    ),
    "several_records": Answer(
        "Le service contient plusieurs fiches de cette identité.",
        "The service has more than one record of this identity.",
        BY_HAND,
    ),
    "same_person_other_key": Answer(
        "Même nom et même date d'entrée sous une autre identité.",
        "Same name and start date under another identity.",
        DECIDE,
    ),
    "same_number_other_form": Answer(
        "Une fiche de l'entité porte ce matricule sous une autre forme.",
        "A record of the entity has this payroll number in another form.",
        DECIDE,
    ),
    "same_name_and_number": Answer(
        "Même nom et même matricule, dans une autre entité ou à une autre date d'entrée.",
        "Same name and payroll number, in another entity or with another start date.",
        DECIDE,
    ),
    "same_email_other_form": Answer(
        "Une fiche porte cette adresse e-mail en d'autres majuscules, ou parmi d'autres.",
        "A record has this e-mail address in another case, or among others.",
        DECIDE,
    ),
    "same_key_other_data": Answer(
        "Une fiche saisie entre-temps porte cette identité, avec un autre nom ou une autre date.",
        "A record typed in meanwhile has this identity with another name or date.",
        DECIDE,
    ),
    "same_email_other_name": Answer(
        "Une fiche porte cette adresse e-mail sous un autre nom.",
        "A record has this e-mail address under another name.",
        DECIDE,
    ),
    "same_phone_other_name": Answer(
        "Une fiche porte ce mobile sous un autre nom.",
        "A record has this mobile phone under another name.",
        DECIDE,
    ),
    "same_name_and_company": Answer(
        "Une fiche porte le même nom et la même société.",
        "A record has the same name and company.",
        DECIDE,
    ),
    "same_name_and_birth_year": Answer(
        "Une fiche porte le même nom et la même année de naissance.",
        "A record has the same name and year of birth.",
        DECIDE,
    ),
    "like_another_row": Answer(
        "Ressemble à une autre ligne du fichier (nom, adresse ou téléphone).",
        "Like another row of the file (name, address or phone).",
        DECIDE,
    ),
    "deleted_there": Answer(
        "La fiche a été supprimée dans le service.",
        "The record was deleted in the service.",
        DECIDE,
    ),
    "key_with_other_data": Answer(
        "Envoyée sans réponse ; une fiche de cette identité porte d'autres données.",
        "Sent without an answer; a record of this identity has other data.",
        DECIDE,
    ),
    "alike_without_key": Answer(
        "Envoyée sans réponse ; une fiche ressemblante n'affiche pas son identité.",
        "Sent without an answer; a similar record doesn't show its identity.",
        DECIDE,
    ),
    "id_not_readable": Answer(
        "Le service a confirmé la création par un numéro, mais n'affiche pas la fiche.",
        "The service confirmed the creation with an id, and doesn't show the record.",
        DECIDE,
    ),
    "claimed_by_another": Answer(
        "Envoyée sans réponse ; la fiche trouvée appartient à une autre ligne.",
        "Sent without an answer; the record found belongs to another row.",
        DECIDE,
    ),
    "attempts_used": Answer(
        "Envoyée plusieurs fois sans réponse ni trace.",
        "Sent several times without an answer or a trace.",
        DECIDE,
    ),
    "given_up_before": Answer(
        "Abandonnée auparavant, avec les mêmes données, par décision d'une personne.",
        "Given up before, with the same data, by a person's decision.",
        DECIDE,
    ),
    "double_found": Answer(
        "Le service contient un double, apparu après coup.",
        "The service has a double, which showed later.",
        BY_HAND,
    ),
    # not at its end
    "other_data_underway": Answer(
        "Une création de cette identité, avec d'autres données, est en cours ou faite.",
        "A creation of this identity with other data is under way or done.",
        BY_HAND,
    ),
    "underway": Answer("Création en cours.", "The creation is under way.", LATER),
    "waits_for_manager": Answer(
        "Attend la décision sur son responsable.", "Waits for the decision on its manager.", LATER
    ),
}
"""By code; the texts quote no cell."""


@dataclass(frozen=True)
class RowFault(Fault):
    """A fault whose texts stand here."""

    @property
    def text_fr(self) -> str:
        """The reason in French."""
        return CREATION_FAULTS[self.code].french.format_map(self.details)

    @property
    def text_en(self) -> str:
        """The reason in English."""
        return CREATION_FAULTS[self.code].english.format_map(self.details)

    @property
    def hint(self) -> str:
        """What to do, in both."""
        return CREATION_FAULTS[self.code].hint.format_map(self.details)


def restored(kept: Mapping[str, object], line: int) -> Fault:
    """Return a fault as `kept` wrote it."""
    code = str(kept["code"])
    kind = RowFault if code in CREATION_FAULTS else Fault
    return kind(code, line, kept["column"], kept["field"], kept["details"])  # type: ignore[arg-type]  # JSON of `as_kept`


def as_kept(fault: Fault) -> dict[str, object]:
    """Return a fault as JSON; `restored` reads it."""
    return {
        "code": fault.code,
        "column": fault.column,
        "field": fault.field,
        "details": dict(fault.details),
    }
