"""Values of the demo data: French names, towns and firms, with accents."""

from random import Random

_FIRST = """
Aurélie Benoît Camille Cédric Chloé Clément Élodie Émilie Étienne Fanny François Frédéric Gaëlle
Geneviève Grégoire Hélène Hervé Inès Irène Jérôme Joëlle Julien Kévin Laëtitia Léa Loïc Lucie Maël
Maëlys Margaux Mélanie Nadège Noémie Océane Raphaël Rémi Sébastien Solène Stéphane Théo Thérèse
Valérie Véronique Zoé Jean-François Marie-Hélène Anne-Cécile
"""
_LAST = """
Aubry Bénard Bérenger Besançon Bourdon Brûlé Chérel Clément Côté Crépin Dubois Dumont Dupré Durand
Élie Faure Féry Fournier Gérard Girard Guérin Hébert Hervé Jégou Joubert Lacroix Lefèvre Lemaître
Léger Mallet Maréchal Méheut Mercier Moreau Müller Noël Péron Petit Prévost Quéré Renaud Rivière
Rousseau Sénéchal Thébault Vasseur Véron Yvon D'Hérouville L'Hôpital Saint-Léger
"""
_TOWNS = """
75011 Paris / 69003 Lyon / 13006 Marseille / 31000 Toulouse / 44000 Nantes / 67000 Strasbourg /
33000 Bordeaux / 59800 Lille / 35000 Rennes / 38000 Grenoble / 42000 Saint-Étienne / 21000 Dijon /
30000 Nîmes / 01000 Bourg-en-Bresse / 06000 Nice / 25000 Besançon / 97400 Saint-Denis
"""
_STREETS = """
rue de la République / avenue du Général-Leclerc / rue de l'Église / boulevard Voltaire / place du
Marché / impasse des Lilas / chemin de la Forêt / quai Sébastien-Vauban
"""
_FIRMS = """
Société Générale d'Ingénierie / Ateliers Méca-Précision / Crédit Rhodanien / Énergie & Réseaux /
Groupe Bélier / Hôtels de la Côte / Laboratoires Théraphène / Logistique Île-de-France / Mutuelle
du Léman / Pâtisseries Cœur de Blé / Transports Gévaudan / Verrerie de Haute-Saône / Château
Lagrézette SAS / Optique Fréjus / Télécom Bretagne Services / Aéro Composites / Banque de
l'Hémicycle / Câbleries d'Armorique
"""
_SUBJECTS = """
Régie, développement logiciel / Forfait, étude de faisabilité / Assistance à maîtrise d'ouvrage /
Audit de sécurité / Formation, deux journées / Maintenance évolutive / Déploiement et recette
"""
_JOBS = """
Ingénieure d'études / Chef de projet / Développeur / Consultante sénior / Chargée de recrutement /
Contrôleur de gestion / Responsable d'agence
"""


def seeded(seed: int, *what: int) -> Random:
    """Return the random generator of one row."""
    number = seed
    for part in what:
        number = number * 1_000_003 + part + 1
    return Random(number)  # noqa: S311 -> made-up rows, not secrets


def _listed(text: str) -> tuple[str, ...]:
    return tuple(" ".join(each.split()) for each in text.split("/"))


FIRST_NAMES = tuple(_FIRST.split())
LAST_NAMES = (*_LAST.split(), "Le Goff", "de La Tour")
TOWNS = tuple((town[:5], town[6:]) for town in _listed(_TOWNS))
STREETS, FIRMS, SUBJECTS, JOBS = map(_listed, (_STREETS, _FIRMS, _SUBJECTS, _JOBS))
DEPARTMENTS = (("ING", "Ingénierie"), ("COM", "Commerce"), ("ADM", "Administration"), ("RH", "RH"))
SKILLS = ("Python", "Gestion de projet", "Électronique", "Qualité", "Réseaux", "Données")
