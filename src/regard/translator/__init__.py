"""The façade: `load` gives what a model folder holds, ready for use.

>>> regard.load("model").translate("The cat sleeps.").text  # doctest: +SKIP
'Le chat dort.'
"""

from __future__ import annotations

from os import PathLike

from regard.folder import load_folder
from regard.models.classifier import ClassifierModel
from regard.models.handwriting import HandwritingModel
from regard.models.lm import LanguageModel, MaskedLanguageModel
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
    "load",
]


def load(
    folder: str | PathLike[str], *, device: str = "cpu", threads: int = 0
) -> Translator | Generator | Filler | Penman | Classifier:
    """The model in a folder: a `Translator`, a `Generator` (lm), a `Filler` (mlm), a `Penman`
    (handwriting) or a `Classifier`.

    `threads` is how many cores it may use, 0 for all.
    """
    saved = load_folder(folder, device)
    if isinstance(saved.network, LanguageModel):
        return Generator(saved)
    if isinstance(saved.network, MaskedLanguageModel):
        return Filler(saved)
    if isinstance(saved.network, HandwritingModel):
        return Penman(saved)
    if isinstance(saved.network, ClassifierModel):
        return Classifier(saved)
    return Translator(saved, threads=threads)
