"""Text to train on: cleaned, made by back-translation, or by a larger model.

>>> regard.data.clean("pairs.tsv", "clean.tsv", languages="en-fr").kept  # doctest: +SKIP
>>> regard.data.backtranslate("mono.fr", "new.tsv", model="fr-en", tag="bt")  # doctest: +SKIP
>>> regard.data.distill("pairs.tsv", "easy.tsv", model="large", closest=True)  # doctest: +SKIP
"""

from regard.config import CleaningSettings
from regard.tasks.data.clean import clean
from regard.tasks.data.synthesis import backtranslate, distill

__all__ = ["CleaningSettings", "backtranslate", "clean", "distill"]
