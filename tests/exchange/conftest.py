"""Model folders of drawn weights, made without training."""

import pytest
import torch

from regard.config import Run, SearchOptions, TextSettings, TransformerSettings
from regard.corpus.grammar import sample
from regard.folder import WEIGHTS, Tokenizers, save_run, save_tokenizers, save_weights
from regard.models.transformer import TransformerModel
from regard.tasks import load_folder
from regard.text.sentencepiece_tokenizer import FIRST_PIECE, train_sentencepiece
from regard.text.tokenizer import EOS, FIRST_BYTE

PAIRS = [(pair.source, pair.target) for pair in sample("train", 60, seed=3, max_words=10)]
SIZES = {
    "dim": 16,
    "num_heads": 2,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "ff": 24,
    "max_length": 60,
}


@pytest.fixture(scope="session")
def tokenizers():
    source, target = zip(*PAIRS, strict=True)
    both = train_sentencepiece([*source, *target], 340)
    return {
        True: Tokenizers(both, both),
        False: Tokenizers(train_sentencepiece(source, 310), train_sentencepiece(target, 330)),
    }


@pytest.fixture
def make_model(tmp_path, tokenizers):
    """A function of model settings that writes such a folder and loads it."""

    def make(*, shared=True, **settings):
        model = TransformerSettings(**{**SIZES, "tied": "all" if shared else "output", **settings})
        both = tokenizers[shared]
        network = TransformerModel(model, len(both.source), len(both.target))
        with torch.no_grad():
            for weight in network.parameters():  # no bias is zero, no norm one
                weight.add_(0.1 * torch.randn_like(weight))
            network.output.bias[EOS] += 2  # so that outputs end
            network.output.bias[FIRST_BYTE:FIRST_PIECE] -= 3  # and are text
        folder = tmp_path / "model"
        folder.mkdir()
        run = Run("en-fr", model, TextSettings(shared=shared), decoding=SearchOptions(beam=3))
        save_run(folder, run)
        save_tokenizers(folder, both)
        save_weights(folder / WEIGHTS, network.state_dict())
        return load_folder(folder)

    return make
