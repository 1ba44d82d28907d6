"""Text to train on: cleaned, made by back-translation, or by a larger model.

>>> regard.data.clean("pairs.tsv", "clean.tsv", languages="en-fr").kept  # doctest: +SKIP
"""

from regard.config import CleaningSettings
from regard.tasks.data.clean import clean

__all__ = ["CleaningSettings", "clean"]
