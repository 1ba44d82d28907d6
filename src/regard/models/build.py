"""From settings to a model."""

from __future__ import annotations

from regard.config import Classifier, Handwriting, Lm, Mlm, Model, Rnn, Transformer
from regard.models.classifier import ClassifierModel
from regard.models.handwriting import HandwritingModel
from regard.models.lm import LanguageModel, MaskedModel
from regard.models.rnn import RnnModel
from regard.models.transformer import TransformerModel

Translating = TransformerModel | RnnModel
"""Those that read a source and write a target."""
Network = Translating | LanguageModel | MaskedModel | ClassifierModel | HandwritingModel


def build(settings: Model, source_vocab: int, target_vocab: int) -> Network:
    """The model that `settings` describe, with first weights drawn from torch's generator."""
    match settings:
        case Transformer():
            return TransformerModel(settings, source_vocab, target_vocab)
        case Rnn():
            return RnnModel(settings, source_vocab, target_vocab)
        case Classifier():
            return ClassifierModel(settings, source_vocab)
        case Handwriting():
            return HandwritingModel(settings, source_vocab)
        case Mlm():
            return MaskedModel(settings, target_vocab)
        case Lm():
            return LanguageModel(settings, target_vocab)
