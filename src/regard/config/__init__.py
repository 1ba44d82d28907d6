"""Every setting, as frozen dataclasses: what a field's docstring says is the flag's help.

Nothing here imports torch.
"""

from regard.config.alignment import Alignment
from regard.config.classifier import Classifier
from regard.config.cleaning import Cleaning
from regard.config.decoding import Decoding
from regard.config.handwriting import Handwriting
from regard.config.model import MODELS, Lm, Mlm, Model, Rnn, Transformer
from regard.config.run import FORMAT_VERSION, Run
from regard.config.text import Text
from regard.config.training import Training

__all__ = [
    "FORMAT_VERSION",
    "MODELS",
    "Alignment",
    "Classifier",
    "Cleaning",
    "Decoding",
    "Handwriting",
    "Lm",
    "Mlm",
    "Model",
    "Rnn",
    "Run",
    "Text",
    "Training",
    "Transformer",
]
