"""What `regard.load` returns."""

from __future__ import annotations

from regard.tasks.translation.translation import Sentence, Translation
from regard.tasks.translation.translator import Translator
from regard.translator.classify import Classified, Classifier
from regard.translator.fill import Filler, Guess
from regard.translator.generate import Generated, Generator
from regard.translator.write import Line, Penman

__all__ = [
    "Classified",
    "Classifier",
    "Filler",
    "Generated",
    "Generator",
    "Guess",
    "Line",
    "Penman",
    "Sentence",
    "Translation",
    "Translator",
]
