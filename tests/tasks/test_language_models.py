"""Loaded language models and masked language models, and folders that cannot be loaded."""

import shutil

import pytest
import torch

import regard
from regard.config import SearchOptions
from regard.errors import InputError
from regard.tasks.language_model.generator import Generator
from regard.tasks.masked_language_model.mask_filler import MaskFiller
from regard.tasks.translation.translator import Translator
from trained import taught

TEXTS = [source for source, _ in taught("lm")]


def test_each_folder_gives_its_own_kind(en_fr, lm, mlm):
    assert isinstance(regard.load(en_fr.path), Translator)
    assert isinstance(lm, Generator)
    assert isinstance(mlm, MaskFiller)


def test_a_prompt_is_continued_as_learned(lm):
    begin = " ".join(TEXTS[0].split()[:2])
    (generated,) = lm.generate(begin, settings=SearchOptions(beam=1, max_length=40))
    assert generated.text.startswith(begin)
    assert generated.finished
    assert "".join(generated.tokens).replace("▁", " ").strip() == generated.text


def test_a_stream_is_the_same_text_in_pieces(lm):
    for settings in (
        SearchOptions(beam=1, max_length=30),
        SearchOptions(sample=True, seed=5, max_length=30),
    ):
        pieces = list(lm.stream("The", settings=settings))
        (generated,) = lm.generate("The", settings=settings)
        assert "".join(pieces) == generated.text
        assert len(pieces) > 1


def test_samples_and_lengths(lm):
    settings = SearchOptions(sample=True, temperature=2.0, n_best=3, max_length=12)
    samples = lm.generate("The", settings=settings)
    texts = [sample.text for sample in samples]
    assert len(samples) == 3 and len(set(texts)) > 1
    assert all(len(sample.tokens) <= 12 for sample in samples)
    assert [sample.text for sample in lm.generate("The", settings=settings)] == texts
    assert lm.generate()[0].text


def test_maps_of_what_was_generated(lm):
    settings = SearchOptions(beam=1, max_length=9)
    (generated,) = lm.generate("The", settings=settings, attention=True)
    assert [layer_map.layer for layer_map in generated.attention] == [0, 1]
    size = len(generated.tokens) + 1
    assert all(m.weights.shape == (1, 2, size, size) for m in generated.attention)


def test_a_prompt_that_does_not_fit(lm):
    with pytest.raises(InputError, match=r"the prompt has .* tokens, but the model holds 48"):
        lm.generate(" ".join(TEXTS))


def test_masked_words_are_predicted_as_learned(mlm):
    right = 0
    for text in TEXTS:
        word = text.split()[1]
        (predictions,) = mlm.fill(text.replace(f" {word} ", " [MASK] ", 1))
        right += predictions[0].token.lstrip("▁") == word
        if predictions[0].token.lstrip("▁") == word:
            assert predictions[0].text == text
    assert right > len(TEXTS) / 2


def test_predictions_are_probabilities_in_order(mlm):
    first, second = mlm.fill("The [MASK] was playing during the [MASK].", count=7)
    for predictions in (first, second):
        assert len(predictions) == 7
        shares = [prediction.probability for prediction in predictions]
        assert shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) <= 1 + 1e-6
        assert not any(
            "[MASK]" in prediction.text or "<" in prediction.token for prediction in predictions
        )
    assert first[0].text == second[0].text  # the other mask has its best prediction


def test_texts_that_cannot_be_filled(mlm):
    with pytest.raises(InputError, match=r"there is no \[MASK\] in"):
        mlm.fill("The cat.")
    with pytest.raises(InputError, match="tokens, but the model holds 48"):
        mlm.fill("[MASK] " + " ".join(TEXTS))


def test_maps_of_a_text(mlm):
    (layer_map,) = mlm.attention("The [MASK] was playing.")
    size = len(mlm.tokenizer.encode_masked("The [MASK] was playing.")) + 1
    assert layer_map.weights.shape == (1, 2, size, size)
    torch.testing.assert_close(layer_map.weights.sum(-1), torch.ones(1, 2, size))


def test_folders_that_are_not_whole(lm, tmp_path):
    for name, message in (
        ("config.yaml", r"there is no config\.yaml in it"),
        ("model.safetensors", r"there is no model\.safetensors yet.*regard train --resume"),
        ("tokenizer.model", "no tokeniser is in it"),
    ):
        folder = tmp_path / name.partition(".")[0]
        shutil.copytree(lm.path, folder, ignore=shutil.ignore_patterns("checkpoints", name))
        with pytest.raises(InputError, match=message):
            regard.load(folder)
    folder = tmp_path / "other"
    shutil.copytree(lm.path, folder, ignore=shutil.ignore_patterns("checkpoints"))
    config = folder / "config.yaml"
    config.write_text(config.read_text("utf-8").replace("ff: 96", "ff: 64"), "utf-8")
    with pytest.raises(InputError, match="the weights do not fit the settings beside them"):
        regard.load(folder)
    (folder / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="the weights cannot be read"):
        regard.load(folder)
